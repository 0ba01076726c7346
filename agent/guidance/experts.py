"""The contract of an expert whom the agent may ask, and the experts that are texts: a file of answers, and a recording.

Everything that an expert needs is in the question and in the record, so a resumed trial asks it in the same way.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from agent.models.protocol import AssistantTurn
from agent.trial.gate import OPEN_GATE, Gate
from trajectories.analysis.integrity.judge import Journal
from trajectories.record.events import Answered, Asked, Guidance, Message
from trajectories.record.interventions import AnswerStatus

INTERVENTIONS = 3
"""Number of questions that are answered, unless the user chooses another."""
MOST_TRIES = 3
"""Number of times that an answer is asked for; if all of them break the rule, the agent gets a fixed text."""


class ExpertUnavailable(Exception):
    """The expert cannot be asked now. The trial ends, and its resumption asks the question again."""


@dataclass(frozen=True)
class Consultation:
    """A question, with everything that an expert may see besides the task."""

    asked: Asked
    answers: Sequence[tuple[Asked, Answered]]
    """All earlier answers in the record, those to this question included."""
    turns: Sequence[Message | AssistantTurn]
    """Conversation of the agent."""
    journal: Journal
    """Records the calls of a model that answers."""
    gate: Gate = OPEN_GATE
    """Passed by these calls."""


@dataclass(frozen=True)
class Advice:
    """A text of the expert, not yet checked."""

    text: str = ""
    """The answer; empty if no answer is available."""
    call: int | None = None
    """Number of the role call that brought it."""
    final: bool = False
    """True if the expert has nothing else to give when this is refused."""
    status: AnswerStatus | None = None
    """Status of a recorded answer, which is not checked again."""


class Expert(Protocol):
    """Answers the questions of an agent."""

    guidance: Guidance
    """Description of the expert for the record."""
    inputs: tuple[bytes, ...]
    """Contents that are kept with the trial: the file with the answers, or the model's prompt."""

    def check(self) -> None:
        """Check all that can be checked before a question.

        Raises: UserError.
        """

    def answer(self, consultation: Consultation) -> Advice:
        """Answer a question once.

        Raises: ExpertUnavailable, Refused; KeyboardInterrupt if the user interrupts.
        """

    def close(self) -> None:
        """Release what it holds."""


class TextExpert:
    """The base of experts that hold nothing and need no check."""

    def __init__(self, guidance: Guidance, inputs: tuple[bytes, ...] = ()) -> None:
        self.guidance = guidance
        self.inputs = inputs

    def check(self) -> None:
        """See `Expert`; all was checked when it was made."""

    def close(self) -> None:
        """See `Expert`; nothing is held."""


class FileExpert(TextExpert):
    """Gives the answers of a file in their order. The record holds the number of those that were used."""

    def __init__(self, guidance: Guidance, answers: Sequence[str], inputs: tuple[bytes, ...]) -> None:
        super().__init__(guidance, inputs)
        self._answers = answers

    def answer(self, consultation: Consultation) -> Advice:
        """See `Expert`; no answer is available after the last one."""
        used = sum(answer.status in ("given", "replaced") for _, answer in consultation.answers)
        return Advice(self._answers[used], final=True) if used < len(self._answers) else Advice()


class RecordedExpert(TextExpert):
    """Gives the answers of a recorded trial to the questions of the same numbers."""

    def __init__(self, guidance: Guidance, answers: Sequence[Answered]) -> None:
        super().__init__(guidance)
        self._answers = {answer.question: answer for answer in answers if answer.status != "refused"}

    def answer(self, consultation: Consultation) -> Advice:
        """See `Expert`; no answer is available to a question that the recording does not answer."""
        answer = self._answers.get(consultation.asked.question)
        return Advice() if answer is None else Advice(answer.text, status=answer.status)
