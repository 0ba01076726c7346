"""Links between two turns beside the environment: feedback on the turn before, or the next stage of the task."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from agent.loop.instructions import Say
from agent.trial.order import Order
from agent.trial.restoring.feedback import directory_of_turn, keep_files, put_files
from agent.trial.workplace import Workplace, put_task_files
from benchmarks.task.feedback import FeedbackContent
from environments.protocol import Environment, Started
from trajectories.record.events import Chain, Feedback, FeedbackSource


class Link(Protocol):
    """Part of a turn that does not come from the environment of the turn before."""

    def put(self, environment: Environment) -> None:
        """Put its files into the environment, which may be paused and may be in an earlier state.

        Raises: EnvironmentFault.
        """

    def begin(self, place: Workplace) -> None:
        """Prepare the environment, which runs and is as the turn before left it.

        Raises: EnvironmentFault, TaskError, RecordFull.
        """

    def record(self, place: Workplace, recorded: Sequence[Feedback]) -> None:
        """Record what the turn is given, except what is recorded already.

        Raises: RecordFull.
        """

    def messages(self, order: Order, started: Started, lost: tuple[str, ...]) -> list[Say]:
        """Return the turn's own messages; the model is told one line for each thing that is lost."""


@dataclass(frozen=True)
class FeedbackLink:
    """Feedback on the turn before, for another round at the same task."""

    chain: Chain
    turn: int
    """Number of the turn before."""
    source: FeedbackSource
    """Evaluation that the feedback comes from."""
    passed: bool
    content: FeedbackContent
    """The feedback, without secrets."""

    def put(self, environment: Environment) -> None:
        """See `Link`."""
        put_files(environment, self.turn, self.content.files)

    def begin(self, place: Workplace) -> None:
        """See `Link`; the environment stays as it is."""

    def record(self, place: Workplace, recorded: Sequence[Feedback]) -> None:
        """See `Link`; the event of the feedback with its files."""
        assert self.chain.feedback is not None
        if self.turn not in (event.turn for event in recorded):
            files = keep_files(place.recorder, self.content.files)
            place.recorder.append(Feedback(turn=self.turn, form=self.chain.feedback, source=self.source, files=files))

    def messages(self, order: Order, started: Started, lost: tuple[str, ...]) -> list[Say]:
        """See `Link`; the opening of a new conversation, and the feedback.

        A conversation that goes on is told of the expert again, who answers as many questions in each turn.
        """
        assert self.chain.feedback is not None
        opening = order.opening(started)
        if self.chain.conversation == "same":
            opening = [say for say in opening if say.why == "guidance"]
        text = order.texts.feedback(
            turn=self.turn + 1,
            turns=self.chain.turns,
            form=self.chain.feedback,
            text=self.content.text,
            whole=self.content.whole,
            files=sorted(self.content.files),
            directory=directory_of_turn(self.turn),
            passed=self.passed,
            lost=lost,
        )
        return [*opening, Say("user", text, "feedback")]


@dataclass(frozen=True)
class StageLink:
    """The next stage of the task, which is the task of the turn's order."""

    def put(self, environment: Environment) -> None:
        """See `Link`; files of a stage are put when it begins."""

    def begin(self, place: Workplace) -> None:
        """See `Link`; the stage's own files and set-up."""
        put_task_files(place)

    def record(self, place: Workplace, recorded: Sequence[Feedback]) -> None:
        """See `Link`; the first event names the stage."""

    def messages(self, order: Order, started: Started, lost: tuple[str, ...]) -> list[Say]:
        """See `Link`; the opening of a new conversation, and a notice of what is lost."""
        notice = [Say("user", order.texts.branched(None, lost, order.told_limits), "notice")] if lost else []
        return [*order.opening(started), *notice]
