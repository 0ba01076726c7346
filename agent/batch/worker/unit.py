"""Runs one unit in a thread of a worker: a new trial or chain, the continuation of one, or an evaluation.

Everything that the unit is comes from the batch folder; only the task and the keys come from this machine.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace

from agent.batch.grid.orders import api_base_here, order_of, sources_of
from agent.batch.messages import FromWorker, Progress, UnitEnded, Work
from agent.batch.worker.gates import UnitGate
from agent.continuation.chain import chain_of, resume_chain, run_chain
from agent.continuation.resume import resuming
from agent.errors import MachineError, UserError
from agent.evaluation.trial import evaluate_trial
from agent.loop.worker import LoopWorker
from agent.trial.order import Order
from agent.trial.run import named, run_at
from agent.trial.start import Start
from benchmarks.task.task import TaskError
from prompts import PromptError
from trajectories.errors import RecordError, RecordFull, TrialInUse
from trajectories.record.events import (
    BaseEvent,
    CallFinished,
    CallStarted,
    EvaluationStarted,
    Event,
    Exited,
    Paused,
    Resumed,
    TrialStarted,
)
from trajectories.record.layout import BatchFolder
from trajectories.writing.recorder import Observer

_EVERY_S = 1.0

Send = Callable[[FromWorker], None]


def run_unit(batch: BatchFolder, work: Work, gate: UnitGate, send: Send) -> UnitEnded:
    """Run a unit to its end, and return what to tell the coordinator.

    Problems of the user, the machine or the record are part of what is returned; anything else is a bug and is raised.
    """
    watch = _Watch(work, send)
    evaluates = True
    try:
        if work.how in ("fresh", "rerun"):
            evaluates = _run_new(batch, work, gate, watch)
        elif work.how == "evaluate":
            evaluate_trial(batch.path / work.trial, gate=gate)
        else:
            evaluates = _continue(batch, work, gate, watch)
    except KeyboardInterrupt:
        return UnitEnded(unit=work.unit, trial=work.trial, problem="stopped", problem_kind="stopped")
    except TrialInUse as error:
        return UnitEnded(unit=work.unit, trial=work.trial, problem=str(error), problem_kind="busy")
    except (MachineError, RecordFull, OSError) as error:
        return UnitEnded(unit=work.unit, trial=work.trial, problem=str(error), problem_kind="machine")
    except (UserError, TaskError, PromptError, RecordError) as error:
        return UnitEnded(unit=work.unit, trial=work.trial, problem=str(error), problem_kind="user")
    return UnitEnded(unit=work.unit, trial=work.trial, evaluates=evaluates)


def _run_new(batch: BatchFolder, work: Work, gate: UnitGate, watch: _Watch) -> bool:
    """Run a new trial, or a new chain; return False if its task has no evaluation."""
    order, start = order_of(batch, work.configuration)
    order = replace(order, gate=gate, evaluate=order.evaluate and work.evaluate)
    first = _first_event(order, start, work)
    directory = batch.path / work.trial
    directory.mkdir(exist_ok=True)  # a worker may have died before it wrote event 0
    if order.chain is not None:
        run_chain(order, watch.turn, [], (directory, first))
    else:
        run_at(directory, first, order, start, LoopWorker(order), watch.observer())
    return order.task.evaluable


def _first_event(order: Order, start: Start, work: Work) -> TrialStarted:
    """Return event 0 of the unit's trial.

    Raises: UserError if the trial would be another one than the grid says.
    """
    first = named(start.first_event(order), work.trial, work.attempt)
    if first.identity != work.unit:
        raise UserError(
            f"{work.trial}: this machine would run another trial than the one that was planned (identity "
            f"{first.identity[:12]}, planned {work.unit[:12]}); use the same version of Retrace, of the task and of "
            "its image everywhere"
        )
    if not work.rerun:
        return first
    return first.model_copy(update={"rerun": work.rerun, "replaces": work.replaces})


def _continue(batch: BatchFolder, work: Work, gate: UnitGate, watch: _Watch) -> bool:
    """Continue the record of a unit; return False if its task has no evaluation."""
    directory = batch.path / work.trial
    sources, api_base = sources_of(batch, work.configuration), api_base_here(work.configuration)
    if (chain := chain_of(directory)) is not None:
        resume_chain(*chain, watch.turn, [], watch.say, sources=sources, gate=gate, api_base=api_base)
        return True
    with resuming(directory, sources=sources, gate=gate, evaluate=work.evaluate, api_base=api_base) as resumption:
        if resumption.order is None:
            return work.evaluate
        resumption.run(watch.observer(resumption.events))
        return resumption.order.task.evaluable


class _Watch:
    """Tells the coordinator how far a unit is, at most once a second."""

    def __init__(self, work: Work, send: Send) -> None:
        self._work = work
        self._send = send
        self._steps = 0
        self._phase = "starting"
        self._sent: tuple[int, str] | None = None
        self._sent_at_s = 0.0

    def observer(self, history: Sequence[BaseEvent] = ()) -> Observer:
        """Return an observer of a record that holds these events already."""
        for event in history:
            self._take(event)
        return self

    @contextmanager
    def turn(self, order: Order, history: Sequence[Event], words: str) -> Iterator[Observer | None]:
        """Watch one turn of a chain."""
        yield self.observer(history)

    def say(self, line: str) -> None:
        """Do nothing: a line about a chain that continues is for a terminal."""

    def note(self, line: str) -> None:
        """See `Observer`."""

    def feed(self, event: BaseEvent) -> None:
        """See `Observer`."""
        self._take(event)
        state = (self._steps, self._phase)
        now_s = time.monotonic()
        if state == self._sent or (now_s - self._sent_at_s < _EVERY_S and self._sent is not None):
            return
        self._sent, self._sent_at_s = state, now_s
        trial = self._work.trial
        self._send(Progress(unit=self._work.unit, trial=trial, steps=self._steps, phase=self._phase))

    def _take(self, event: BaseEvent) -> None:
        match event:
            case CallFinished():
                self._steps += 1
            case Paused():
                self._phase = "waiting"
            case CallStarted() | Resumed():
                self._phase = "working"
            case EvaluationStarted():
                self._phase = "evaluating"
            case Exited():
                self._phase = "ending"
