"""The gate of a trial in a worker: it asks the coordinator before each call and each evaluation.

A unit stops in two ways. A soft stop lets a call in flight finish, because it is paid for, and stops the trial then; a
hard stop cuts off everything at once, as Ctrl-C does for a trial that runs alone.
"""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from agent.batch.messages import (
    Admitted,
    AskCall,
    AskEvaluation,
    CallLeaves,
    CallSettled,
    EvaluationOver,
    FromWorker,
    MayLeave,
    NotAdmitted,
)
from agent.trial.gate import CallBound, CallUse, Refused
from trajectories.interrupts import Stop, interruptible
from trajectories.waiting import Event

_numbers = itertools.count(1)

Send = Callable[[FromWorker], None]


@dataclass
class _Question:
    """A call that waits for its answer."""

    answered: Event = field(default_factory=Event)
    refused: NotAdmitted | None = None


class UnitGate:
    """Implements `Gate` for the trials of one unit."""

    def __init__(self, unit: str, send: Send, stop: Stop, *, is_remote: bool = False) -> None:
        """`is_remote`: the batch folder is on another machine, and has a copy of the record."""
        self.unit = unit
        self.stop = stop
        self._send = send
        self._lock = threading.Lock()
        self._questions: dict[int, _Question] = {}
        self._is_remote = is_remote
        self._in_flight: set[int] = set()
        self._leaving: dict[int, Event] = {}
        """Calls whose record is on its way to the batch folder."""
        self._evaluation: Event | None = None
        self._is_leaving = False

    def admit(self, model: str, bound: CallBound) -> int:
        """See `Gate`."""
        call, question = self._ask(model, bound, wait=True)
        try:
            _wait(question.answered)
        except KeyboardInterrupt:
            self._give_up(call)
            raise
        if question.refused is not None:
            raise Refused(question.refused.cause, question.refused.reason)
        return call

    def may_leave(self, model: str, bound: CallBound) -> int | None:
        """See `Gate`."""
        call, question = self._ask(model, bound, wait=False)
        try:
            _wait(question.answered)
        except KeyboardInterrupt:
            self._give_up(call)
            raise
        return None if question.refused is not None else call

    def leaves(self, ticket: int) -> None:
        """See `Gate`."""
        if not self._is_remote:
            return
        with self._lock:
            if self._is_leaving:
                self.stop.set()
            self._leaving[ticket] = safe = Event()
        self._send(CallLeaves(call=ticket, unit=self.unit))
        try:
            _wait(safe)
        finally:
            with self._lock:
                self._leaving.pop(ticket, None)

    def settle(self, ticket: int, use: CallUse) -> None:
        """See `Gate`."""
        self._send(
            CallSettled(
                call=ticket,
                unit=self.unit,
                outcome=use.outcome,
                usd=use.usd,
                tokens=use.tokens,
                prompt_tokens=use.prompt_tokens,
                cached_tokens=use.cached_tokens,
                status=use.status,
                retry_after_s=use.retry_after_s,
                permanent=use.permanent,
                detail=use.detail,
            )
        )
        with self._lock:
            self._in_flight.discard(ticket)
            if self._is_leaving and not self._in_flight:
                self.stop.set()

    @contextmanager
    def evaluation(self) -> Iterator[None]:
        """See `Gate`."""
        self._evaluation = Event()
        self._send(AskEvaluation(unit=self.unit))
        try:
            _wait(self._evaluation)
            yield
        finally:
            self._evaluation = None
            self._send(EvaluationOver(unit=self.unit))

    def answer(self, message: Admitted | NotAdmitted | MayLeave) -> bool:
        """Take in the answer to a call, from the main thread; return False if this gate did not ask."""
        with self._lock:
            if isinstance(message, MayLeave):
                if (safe := self._leaving.get(message.call)) is not None:
                    safe.set()
                return safe is not None
            question = self._questions.pop(message.call, None)
            if question is None:
                return False
            if isinstance(message, NotAdmitted):
                question.refused = message
            else:
                self._in_flight.add(message.call)
            question.answered.set()
        return True

    def grant_evaluation(self) -> None:
        """Let the evaluation begin that was asked for."""
        if self._evaluation is not None:
            self._evaluation.set()

    def leave(self) -> None:
        """Stop the unit once its call in flight has ended, or at once without one."""
        with self._lock:
            self._is_leaving = True
            if self._in_flight <= self._leaving.keys():
                self.stop.set()

    def _ask(self, model: str, bound: CallBound, *, wait: bool) -> tuple[int, _Question]:
        call, question = next(_numbers), _Question()
        with self._lock:
            self._questions[call] = question
        self._send(AskCall(call=call, unit=self.unit, model=model, usd=bound.usd, tokens=bound.tokens, wait=wait))
        return call, question

    def _give_up(self, call: int) -> None:
        """Give back a call whose trial stopped before it left."""
        with self._lock:
            unanswered = self._questions.pop(call, None)
            self._in_flight.discard(call)
        if unanswered is None:  # admitted in the meantime; otherwise the main thread gives it back when it is
            self._send(unused(call, self.unit))


def _wait(event: Event) -> None:
    """Wait for an answer of the coordinator.

    Raises: KeyboardInterrupt.
    """
    with interruptible():
        event.wait()


def unused(call: int, unit: str) -> CallSettled:
    """Return the message that gives back a call that never left."""
    return CallSettled(call=call, unit=unit, outcome="failed", usd=0.0, tokens=0, detail="never left")
