"""Puts the questions of one trial to its expert, and records them with every answer.

The clock of the trial stands meanwhile, and so does its environment where it can be paused. A question without an
answer is asked again when the trial is resumed; an answer in the record is never asked for again. That holds also for
a reply of a model that came when the process died before it was judged: it was paid for.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from agent.guidance.experts import MOST_TRIES, Advice, Consultation, Expert, ExpertUnavailable
from agent.guidance.no_code import Violation, check
from agent.loop.instructions import Consult
from agent.models.protocol import AssistantTurn
from agent.roles.calls import RoleCalls
from agent.trial.gate import Refused
from agent.trial.limits import LimitCheck
from agent.trial.session import Session
from environments.protocol import EnvironmentFault, Pausable
from trajectories.analysis.integrity.judge import NOTHING, Reserved
from trajectories.interrupts import interruptible
from trajectories.record.base import Json
from trajectories.record.events import (
    Answered,
    Asked,
    BaseEvent,
    Message,
    ModelRef,
    Paused,
    Purpose,
    Resumed,
    RoleCallFinished,
    RoleCallStarted,
    TextRef,
    Warned,
)
from trajectories.record.exits import Exit
from trajectories.record.interventions import AnswerStatus
from trajectories.record.texts.text import storable


class Questions:
    """The questions of one trial. `feed` takes every event that is written, as the loop does."""

    def __init__(
        self,
        session: Session,
        expert: Expert,
        turns: Sequence[Message | AssistantTurn],
        feed: Callable[[BaseEvent], None],
    ) -> None:
        self._expert = expert
        self._recorder = session.recorder
        self._lease = session.lease
        self._limits = session.limits
        self._task = session.order.task
        self._gate = session.order.gate
        self._turns = turns
        self._feed = feed
        self._calls = RoleCalls.after(session.history, session.recorder)
        self._unjudged = _unjudged(session.history)
        self._asked: dict[int, Asked] = {}
        self._answers: list[tuple[Asked, Answered]] = []

    def take_in(self, event: BaseEvent) -> None:
        """Take in an event that the record holds already."""
        if isinstance(event, Asked):
            self._asked[event.question] = event
        elif isinstance(event, Answered) and event.question in self._asked:
            self._answers.append((self._asked[event.question], event))

    def consult(self, consult: Consult) -> Exit | None:
        """Put a question to the expert until an answer can be given to the agent; return an exit if it cannot be asked.

        Raises: EnvironmentFault, RecordFull; KeyboardInterrupt if the user interrupts.
        """
        try:
            self._consult(consult)
        except ExpertUnavailable as error:
            return Exit.of("model_unavailable", str(error))
        except Refused as refused:
            return Exit.of(refused.cause, str(refused))
        return None

    def _consult(self, consult: Consult) -> None:
        if not consult.recorded:
            self._write(
                Asked(
                    question=consult.question,
                    action=consult.action,
                    step=consult.step,
                    text=storable(consult.text),
                    left=consult.left,
                    tool_call_id=consult.tool_call_id,
                )
            )
        self._recorder.sync()
        if not consult.left:
            self._answered(consult.question, consult.try_, Advice())
            return
        with self._standing_still():
            for try_ in range(consult.try_, MOST_TRIES + 1):
                advice = self._unjudged.pop(consult.question, None)
                if advice is None:
                    with interruptible():
                        advice = self._expert.answer(self._consultation(consult.question))
                if self._answered(consult.question, try_, advice) != "refused":
                    break
        self._write(Resumed())

    def _consultation(self, question: int) -> Consultation:
        prompt = self._expert.guidance.prompt
        journal = _Journal(self._calls, Purpose(question=question), prompt, self._limits) if prompt else _NoCalls()
        return Consultation(self._asked[question], tuple(self._answers), self._turns, journal, self._gate)

    def _answered(self, question: int, try_: int, advice: Advice) -> AnswerStatus:
        """Record an answer by the rule, and return its status."""
        text = storable(advice.text)
        status, violation = advice.status, None
        if status is None:
            status = "given" if text.strip() else "nobody"
        if status == "given" and advice.status is None and self._expert.guidance.rule == "no-code":
            violation = self._violation(text)
        if violation is not None:
            status = "replaced" if advice.final or try_ >= MOST_TRIES else "refused"
        guidance = self._expert.guidance
        answer = Answered(
            question=question,
            try_=try_,
            by=guidance.by,
            status=status,
            text=text,
            rule=guidance.rule,
            line=violation and storable(violation.line),
            broken=violation and violation.rule,
            call=advice.call,
        )
        self._write(answer)
        self._recorder.sync()
        return status

    def _violation(self, text: str) -> Violation | None:
        return check(text, language=self._task.language or None, solution=self._task.reference)

    @contextmanager
    def _standing_still(self) -> Iterator[None]:
        """Stop the trial's clock, and its environment if that can be paused.

        The environment of a trial that ends meanwhile stays paused: it is exported and released like that.

        Raises: EnvironmentFault if it does not run again.
        """
        self._write(Paused(why="guidance"))
        self._recorder.sync()
        paused = self._paused()
        yield
        if paused is not None:
            with interruptible():
                paused.unpause()

    def _paused(self) -> Pausable | None:
        """Pause the environment, and return it; None if it cannot be paused, so that only the clock stands."""
        environment = self._lease.environment
        if not isinstance(environment, Pausable):
            return None
        try:
            with interruptible():
                environment.pause()
        except EnvironmentFault as error:  # if it is lost, the next command tells that
            self._recorder.append(Warned(kind="not_paused", text=f"the environment could not be paused: {error}"))
            return None
        return environment

    def _write(self, event: BaseEvent) -> None:
        recorded = self._recorder.append(event)
        self.take_in(recorded)
        self._feed(recorded)


def _unjudged(history: Sequence[BaseEvent]) -> dict[int, Advice]:
    """Return the replies of a model that no answer of the record holds, by the number of their question."""
    questions = {event.call: event.purpose.question for event in history if isinstance(event, RoleCallStarted)}
    judged = {event.call for event in history if isinstance(event, Answered)}
    return {
        question: Advice(event.text, event.call)
        for event in history
        if isinstance(event, RoleCallFinished) and event.status == "answered" and event.call not in judged
        if event.text and (question := questions.get(event.call)) is not None
    }


@dataclass(frozen=True)
class _Journal:
    """Records the calls about one question. Implements `Journal`."""

    calls: RoleCalls
    purpose: Purpose
    prompt: TextRef
    limits: LimitCheck

    def started(self, model: ModelRef, messages: Sequence[Json], try_: int, reserved: Reserved = NOTHING) -> int:
        """See `Journal`."""
        return self.calls.started("expert", self.purpose, model, self.prompt, messages, try_, reserved)

    def finished(self, result: RoleCallFinished) -> None:
        """See `Journal`; the costs count in a budget that the trial shares with others, never in its own limit."""
        self.calls.finished(result)
        self.limits.pay_beside(result.costs)


class _NoCalls:
    """The journal of an expert that is not a model. Implements `Journal`."""

    def started(self, model: ModelRef, messages: Sequence[Json], try_: int, reserved: Reserved = NOTHING) -> int:
        """See `Journal`."""
        raise AssertionError("only a model that answers makes calls")

    def finished(self, result: RoleCallFinished) -> None:
        """See `Journal`."""
        raise AssertionError("only a model that answers makes calls")
