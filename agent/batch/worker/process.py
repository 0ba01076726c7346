"""The main thread of a worker: it takes messages, starts a thread for each unit, and ends when nothing is left to do.

The coordinator counts the places of a worker, so every unit that arrives is begun. A worker whose coordinator is gone
finishes the calls in flight, closes its records and ends. So does one that gets a signal, or that is told to stop; what
still runs 15 seconds later is cut off.
"""

from __future__ import annotations

import os
import select
import threading
import time
import traceback
from pathlib import Path

from agent.batch.channel import BadMessage, LineReceiver, LineSender
from agent.batch.code import code_digest, version
from agent.batch.messages import (
    TO_WORKER,
    Admitted,
    EvaluationGranted,
    Hello,
    MayLeave,
    NotAdmitted,
    Quit,
    StopUnits,
    ToWorker,
    UnitEnded,
    Work,
)
from agent.batch.worker.gates import UnitGate, unused
from agent.batch.worker.unit import run_unit
from trajectories.interrupts import Stop, held, interruptible, stopped_by
from trajectories.record.layout import BatchFolder

GRACE_S = 15.0
"""Seconds that a call in flight has to end after a stop."""
_LOOK_S = 0.5


class _Unit:
    """A unit that runs in a thread of its own."""

    def __init__(self, work: Work, gate: UnitGate, thread: threading.Thread) -> None:
        self.work = work
        self.gate = gate
        self.thread = thread


class WorkerProcess:
    """The units of one worker."""

    def __init__(self, batch: Path, incoming: int, outgoing: int, *, is_remote: bool = False) -> None:
        """`is_remote`: the coordinator is on another machine, and has a copy of the batch's folder."""
        self._is_remote = is_remote
        self._batch = BatchFolder(batch)
        self._receiver: LineReceiver[ToWorker] = LineReceiver(incoming, TO_WORKER)
        self._sender = LineSender(outgoing)
        self._units: dict[str, _Unit] = {}
        self._stop_at_s: float | None = None
        """Time at which units that still run are cut off."""
        self._is_leaving = False

    def run(self) -> None:
        """Work until the coordinator says `quit` or is gone, or a signal comes, and nothing runs any more."""
        self._sender.send(Hello(host=os.uname().nodename, pid=os.getpid(), version=version(), digest=code_digest()))
        with held():
            while not (self._is_leaving and not self._units):
                try:
                    with interruptible():
                        self._look()
                except KeyboardInterrupt:
                    self._leave(cut_off=True)
                self._drop_ended()

    def _look(self) -> None:
        """Take in what has come from the coordinator, waiting for a moment."""
        poll = select.poll()
        if not self._receiver.is_closed:
            poll.register(self._receiver.fd, select.POLLIN)
        if poll.poll(_LOOK_S * 1000):
            try:
                for message in self._receiver.receive():
                    self._take(message)
            except BadMessage:
                traceback.print_exc()
                self._receiver.is_closed = True
            if self._receiver.is_closed:
                self._leave(cut_off=False)
        if self._stop_at_s is not None and time.monotonic() >= self._stop_at_s:
            for unit in self._units.values():
                unit.gate.stop.set()

    def _take(self, message: ToWorker) -> None:
        match message:
            case Work():
                self._begin(message)
            case Admitted() | NotAdmitted() | MayLeave():
                self._answer(message)
            case EvaluationGranted():
                if (unit := self._units.get(message.unit)) is not None:
                    unit.gate.grant_evaluation()
            case StopUnits():
                for name, unit in self._units.items():
                    if message.units is None or name in message.units:
                        unit.gate.leave()
                self._cut_off_later()
            case Quit():
                self._is_leaving = True

    def _answer(self, message: Admitted | NotAdmitted | MayLeave) -> None:
        if any(unit.gate.answer(message) for unit in self._units.values()):
            return
        if isinstance(message, Admitted):  # its trial has stopped since it asked
            self._sender.send(unused(message.call, ""))

    def _begin(self, work: Work) -> None:
        gate = UnitGate(work.unit, self._sender.send, Stop(), is_remote=self._is_remote)
        thread = threading.Thread(target=self._run, args=(work, gate), name=work.trial, daemon=True)
        self._units[work.unit] = _Unit(work, gate, thread)
        if self._is_leaving:
            gate.leave()
        thread.start()

    def _run(self, work: Work, gate: UnitGate) -> None:
        """Run a unit in its own thread, and tell how it ended."""
        ended = UnitEnded(unit=work.unit, trial=work.trial, problem="interrupted", problem_kind="stopped")
        try:
            with stopped_by(gate.stop):
                ended = run_unit(self._batch, work, gate, self._sender.send)
        except BaseException:
            traceback.print_exc()
            line = traceback.format_exc().strip().splitlines()[-1]
            ended = UnitEnded(unit=work.unit, trial=work.trial, problem=line, problem_kind="defect")
            raise
        finally:
            self._sender.send(ended)

    def _drop_ended(self) -> None:
        for name, unit in list(self._units.items()):
            if not unit.thread.is_alive() and unit.thread.ident is not None:
                del self._units[name]

    def _leave(self, *, cut_off: bool) -> None:
        """Begin nothing more, and stop what runs; with `cut_off` also a call that has not ended after the grace."""
        self._is_leaving = True
        for unit in self._units.values():
            unit.gate.leave()
        if cut_off:
            self._cut_off_later()

    def _cut_off_later(self) -> None:
        if self._stop_at_s is None:
            self._stop_at_s = time.monotonic() + GRACE_S
