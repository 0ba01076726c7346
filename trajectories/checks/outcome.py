"""The exit, the evaluation, and the origin of a fork."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from trajectories.errors import RecordError
from trajectories.reading.family import directory_of_parent
from trajectories.reading.lines import complete_lines, kind_of
from trajectories.reading.reader import events_file
from trajectories.record.events import (
    CallFinished,
    CallStarted,
    Evaluated,
    EvaluationStarted,
    Event,
    Exited,
    InheritedReply,
    Message,
    Parent,
    TrialStarted,
)
from trajectories.record.interventions import mode_of


class Outcome:
    """Rule `outcome`: the exit counts the steps, and each verdict has its evaluation."""

    name = "outcome"

    def __init__(self) -> None:
        self._steps = 0
        self._evaluating = False
        self._exited = False

    def feed(self, event: Event) -> Iterator[str]:
        match event:
            case CallFinished():
                self._steps += 1
            case Exited():
                self._exited = True
                if event.steps != self._steps:
                    yield f"the exit counts {event.steps} steps, but {self._steps} are finished"
            case EvaluationStarted():
                self._evaluating = True
                if not self._exited:
                    yield "an evaluation begins before the exit"
            case Evaluated():
                if not self._evaluating and event.verdict is not None:
                    yield "a verdict comes without an evaluation_started"
                self._evaluating = False
                if event.verdict is None and not event.why_none:
                    yield "an evaluation has neither a verdict nor a reason for its absence"

    def end(self) -> Iterator[str]:
        return iter(())


class Parentage:
    """Rule `parentage`: inherited messages come first, and only in a fork or a turn that continues a conversation; the
    mode follows from plan and turn; a rerun replaces another trial.

    An imported trial may hold messages that its file calls copied, and is not a fork itself.
    """

    name = "parentage"

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self.parent: Parent | None = None
        self._called = False
        self._imported = False
        self._same_conversation = False

    def feed(self, event: Event) -> Iterator[str]:
        match event:
            case TrialStarted():
                self.parent, self._imported = event.parent, event.imported is not None
                is_later = event.turn is not None and event.turn > 1
                self._same_conversation = is_later and event.chain is not None and event.chain.conversation == "same"
                if event.parent is not None and event.parent.step < 0:
                    yield f"the trial is forked from step {event.parent.step}"
                if event.turn is not None and event.turn < 1:
                    yield f"the trial is turn {event.turn} of its chain"
                if (event.rerun is None) != (event.replaces is None) or (event.rerun is not None and event.rerun < 1):
                    yield f"the trial is rerun {event.rerun} and replaces {str(event.replaces)[:80]!r}"
                mode = mode_of(
                    chain=event.self_corrects, plan=event.plan is not None, guidance=event.guidance is not None
                )
                if event.mode is not None and event.mode != mode:
                    yield f"the mode is {event.mode[:40]!r}, but plan, turn and guidance make it {mode!r}"
            case CallStarted():
                self._called = True
            case Message() | InheritedReply() if isinstance(event, InheritedReply) or event.inherited:
                if self._imported:
                    return
                if self.parent is None and not self._same_conversation:
                    yield f"message {event.id[:40]!r} is inherited, but the trial has no parent"
                if self._called:
                    yield f"message {event.id[:40]!r} is inherited, but comes after a call"
                if isinstance(event, InheritedReply) and self.parent is not None and event.step > self.parent.step:
                    yield f"a reply of step {event.step} is inherited, but the fork is of step {self.parent.step}"

    def end(self) -> Iterator[str]:
        parent = self._parent_directory()
        if self.parent is None or parent is None:
            return
        try:
            steps = sum(kind_of(line) == "call_finished" for _, line in complete_lines(events_file(parent)))
        except (RecordError, OSError):
            return
        if self.parent.step > steps:
            yield f"the trial is forked from step {self.parent.step} of {parent.name}, which has {steps}"

    def missing_parent(self) -> str:
        """Return the name of the parent if it is not in this batch or in one beside it, otherwise an empty text."""
        return self.parent.trial if self.parent is not None and self._parent_directory() is None else ""

    def _parent_directory(self) -> Path | None:
        return None if self.parent is None else directory_of_parent(self._directory, self.parent)
