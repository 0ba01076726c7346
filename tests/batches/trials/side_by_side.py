"""Trials side by side in threads of this process, as a worker of a batch runs them."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from agent.loop.worker import LoopWorker
from agent.trial.fresh import Fresh
from agent.trial.options import Options
from agent.trial.order import Order
from agent.trial.outcome import Outcome
from agent.trial.resolve import resolve
from agent.trial.run import run_new
from trajectories.interrupts import Stop, stopped_by
from trajectories.reading.reader import read_events
from trajectories.record.events import BaseEvent, Event

PATIENCE_S = 60.0


@dataclass
class Running:
    """A trial in a thread of its own."""

    order: Order
    stop: Stop = field(default_factory=Stop)
    events: list[BaseEvent] = field(default_factory=list)
    """Events so far."""
    notes: list[str] = field(default_factory=list)
    outcome: Outcome | None = None
    error: BaseException | None = None
    thread: threading.Thread | None = None

    def note(self, line: str) -> None:
        """See `Observer`."""
        self.notes.append(line)

    def feed(self, event: BaseEvent) -> None:
        """See `Observer`."""
        self.events.append(event)

    def start(self) -> Running:
        self.thread = threading.Thread(target=self._run)
        self.thread.start()
        return self

    def _run(self) -> None:
        try:
            with stopped_by(self.stop):
                self.outcome, _ = run_new(self.order, Fresh(), LoopWorker(self.order), self)
        except BaseException as error:
            self.error = error

    def reach(self, reached: Callable[[Sequence[BaseEvent]], object]) -> None:
        """Wait until the events of the trial show that something was reached."""
        until = time.monotonic() + PATIENCE_S
        while not reached(self.events):
            assert self.error is None, self.error
            assert time.monotonic() < until, [event.type for event in self.events]
            time.sleep(0.01)

    def end(self) -> Outcome:
        """Wait for the end of the trial, and return its outcome."""
        assert self.thread is not None
        self.thread.join(PATIENCE_S)
        assert not self.thread.is_alive()
        if self.error is not None:
            raise self.error
        assert self.outcome is not None
        return self.outcome

    @property
    def record(self) -> list[Event]:
        assert self.outcome is not None
        return list(read_events(self.outcome.directory))


def order_for(folder: Path, model: str, **options: Any) -> Order:
    """Return the order of a trial in the sandbox, in a batch of its own below `folder`."""
    settings = {"task": "demo/ledger", "env": "sandbox", "evaluate": False, "batch": "batch", **options}
    return resolve(Options(model=model, runs=folder / "runs", **settings))


def run_trials(orders: Sequence[Order]) -> list[Running]:
    """Run trials at once, and return them when all have ended."""
    trials = [Running(order).start() for order in orders]
    for trial in trials:
        trial.end()
    return trials


def with_changes(order: Order, **changes: Any) -> Order:
    """Return an order with other fields."""
    return replace(order, **changes)
