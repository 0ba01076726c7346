"""Runs a batch that is planned: news from the engine to the coordinator, until nothing is left to do.

The first interrupt begins no more units, and lets the running ones finish. The second one stops them: each closes its
record within 30 seconds. SIGTERM and SIGHUP stop them at once, because a machine that goes down sends no second one.
Whatever happens, the workers are ended and the journal is closed.
"""

from __future__ import annotations

import os
import signal
import socket
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from agent.batch.code import version
from agent.batch.coordinator import Coordinator
from agent.batch.engines.protocol import Engine
from agent.batch.readings import read_unit, unit_states
from agent.batch.settings import Settings
from agent.batch.state.states import state_of
from agent.batch.state.view import BatchState, BatchView
from trajectories.batches.events import BatchClosed, BatchEvent, BatchOpened, Holder, Planned
from trajectories.batches.journal import BatchWriter
from trajectories.batches.memory import without_collection
from trajectories.interrupts import held, last_signal
from trajectories.record.base import Json
from trajectories.writing.masking import Masker

STOP_S = 30.0
"""Seconds that running units have to close their records after a stop."""
_LOOK_S = 1.0
_SHOW_S = 0.5


@dataclass(frozen=True)
class Drive:
    """A run of a batch: its folder, its engine, its settings and its view."""

    directory: Path
    spec: Json
    """The spec without what may change, for the journal."""
    engine: Engine
    settings: Settings
    view: BatchView
    per_process: int | None = None


def drive(run: Drive, before: Sequence[BatchEvent], new: Sequence[Planned]) -> BatchState:
    """Run a batch that this process owns.

    `before` are the events of its journal, and `new` the units that the grid has got since.

    Raises: RecordError, RecordFull, MachineError. The workers have ended then, too.
    """
    holder = Holder(host=socket.gethostname(), pid=os.getpid())
    began_s = time.monotonic()
    with held():
        run.engine.recover(run.directory)
    with held(), BatchWriter(run.directory, masker=Masker.from_environment()) as journal:
        appended: list[BatchEvent] = [journal.append(_opened(run, holder))]
        appended += [journal.append(planned) for planned in new]
        journal.sync()
        with without_collection():
            coordinator = Coordinator(
                unit_states(run.directory, [*before, *appended]),
                run.settings,
                journal,
                lambda unit: read_unit(run.directory, unit),
                run.engine.send,
                run.view.note,
                began_s,
            )
            shown = _Shown(run, coordinator, holder, began_s)
            coordinator.begin(began_s)
        try:
            if not coordinator.is_finished:
                run.engine.start(run.directory, run.settings.workers, run.per_process)
                _go(run, coordinator, shown)
        finally:
            if coordinator.running:  # an error of the coordinator itself, such as a full disk
                coordinator.stop()
            run.engine.close(STOP_S)
        state = shown.state(is_over=True)
        if state.phase in ("finished", "interrupted", "waiting"):
            journal.append(BatchClosed(why=state.phase))
        run.view.show(state)
        return state


class _Shown:
    """The view, which is fed twice a second."""

    def __init__(self, run: Drive, coordinator: Coordinator, holder: Holder, began_s: float) -> None:
        self._run, self._coordinator, self._holder, self._began_s = run, coordinator, holder, began_s
        self._next_s = 0.0

    def state(self, *, is_over: bool = False) -> BatchState:
        """Return the state as it is now."""
        name, now_s = self._run.directory.name, time.monotonic()
        return state_of(self._coordinator, name, self._holder, self._began_s, now_s, is_over=is_over)

    def look(self) -> None:
        """Show the state if it is time."""
        if time.monotonic() >= self._next_s:
            self._run.view.show(self.state())
            self._next_s = time.monotonic() + _SHOW_S


def _go(run: Drive, coordinator: Coordinator, shown: _Shown) -> None:
    stop_until_s: float | None = None
    while not coordinator.is_finished:
        coordinator.tick(time.monotonic())
        shown.look()
        try:
            news = run.engine.news(_wait_s(coordinator))
        except KeyboardInterrupt:
            stop_until_s = _interrupt(run, coordinator, stop_until_s)
            continue
        now_s = time.monotonic()
        for item in news:
            coordinator.take(item, now_s)
        if stop_until_s is not None and now_s > stop_until_s:
            run.view.note("some trials have not closed their records in time; their workers are killed")
            return


def _wait_s(coordinator: Coordinator) -> float:
    """Return how long to wait for news: until something else is due."""
    now_s = time.monotonic()
    change_s = coordinator.admission.next_change_s(now_s)
    return _LOOK_S if change_s is None else min(_LOOK_S, max(0.0, change_s - now_s))


def _interrupt(run: Drive, coordinator: Coordinator, stop_until_s: float | None) -> float | None:
    """Drain at the first interrupt, stop at the second; return the time at which workers are killed, if any."""
    if not coordinator.is_draining and last_signal() in (signal.SIGINT, None):
        coordinator.drain()
        count = len(coordinator.running)
        run.view.note(f"no more trials begin; {count} go on to their end (Ctrl-C again stops them, resumable)")
        return None
    if not coordinator.is_stopping:
        coordinator.stop()
        run.view.note("stopping: each trial closes its record; the same command continues them")
        return time.monotonic() + STOP_S
    return stop_until_s


def _opened(run: Drive, holder: Holder) -> BatchOpened:
    settings = run.settings
    versions: Mapping[str, str] = {"retrace": version()}
    return BatchOpened(
        coordinator=holder,
        spec=run.spec,
        engine=run.engine.name,
        workers=settings.workers,
        evaluations=settings.evaluations,
        reruns=settings.reruns,
        budget_usd=settings.budget_usd,
        budget_tokens=settings.budget_tokens,
        versions=dict(versions),
    )
