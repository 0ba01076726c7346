"""The calls of a trial's own model on their way through the gate: bounded, admitted, and recorded while they wait.

The clock of the trial stands while a call waits. Calls of a free model pass no gate, and the calls of a trial that
shares nothing pass at once, without a bound.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from agent.models.admitted import AdmittedCall, taken
from agent.models.call_bounds import CallBounds
from agent.models.growing import Entry
from agent.models.protocol import ModelInfo
from agent.trial.gate import OPEN_GATE, Refused
from agent.trial.session import Session
from trajectories.record.events import BaseEvent, CallFinished, Paused, Resumed
from trajectories.record.exits import Exit
from trajectories.record.usage import Usage


class GatedCalls:
    """The calls of one trial. `feed` takes every event that is written, as the loop does."""

    def __init__(self, session: Session, model: ModelInfo, feed: Callable[[BaseEvent], None]) -> None:
        self._gate = session.order.gate
        self._model = model.ref.name
        self._recorder = session.recorder
        self._feed = feed
        is_free = model.free is not None
        self._bounds = None if is_free or self._gate is OPEN_GATE else CallBounds(model, session.order.prices)

    def take_in(self, event: BaseEvent, sent: int) -> None:
        """Take in an event that the record holds already, before which the conversation had `sent` turns."""
        if isinstance(event, CallFinished):
            self.answered(sent, event.usage, event.model_served)

    def answered(self, sent: int, usage: Usage | None, served: str | None) -> None:
        """Take in the usage of a call that sent the first `sent` turns, and the model that answered it."""
        if self._bounds is not None:
            self._bounds.answered(sent, usage, served)

    def admitted(self, turns: Sequence[Entry]) -> AdmittedCall | None:
        """Wait until a call with these turns may leave, and return it; None if it passes no gate.

        Raises: Refused, RecordFull; KeyboardInterrupt if the user interrupts.
        """
        if self._bounds is None:
            return None
        gate, bound = self._gate, self._bounds.next(turns)
        call = taken(gate, bound, lambda: gate.may_leave(self._model, bound))
        if call is None:
            self._write(Paused(why="queue"))
            self._recorder.sync()
            call = taken(gate, bound, lambda: gate.admit(self._model, bound))
            self._write(Resumed())
        return call

    def _write(self, event: BaseEvent) -> None:
        self._feed(self._recorder.append(event))


def refused_exit(refused: Refused) -> Exit:
    """Return the exit of a trial whose call the gate refused. It is not evaluated, and can be resumed."""
    return Exit.of(refused.cause, str(refused))
