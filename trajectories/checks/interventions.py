"""Chains of turns with their feedback, and questions with their answers."""

from __future__ import annotations

from collections.abc import Iterator

from trajectories.checks.contents import Contents
from trajectories.record.events import (
    Answered,
    Asked,
    CallStarted,
    Event,
    Feedback,
    RoleCallFinished,
    RoleCallStarted,
    TrialStarted,
)
from trajectories.record.layout import is_trial_or_rerun, name_of_rerun, name_of_turn


class Turns:
    """Rule `turns`: a turn has its place in its chain, and the feedback on all turns before it, with its files."""

    name = "turns"

    def __init__(self, contents: Contents) -> None:
        self._contents = contents
        self._start: TrialStarted | None = None
        self._feedback: list[int] = []
        self._called = False

    def feed(self, event: Event) -> Iterator[str]:
        match event:
            case TrialStarted():
                self._start = self._start or event
                yield from self._place(event)
            case Feedback():
                yield from self._of_earlier_turn(event)
                for file in event.files:
                    if file.path.startswith("/") or ".." in file.path.split("/") or not file.path:
                        yield f"the feedback file {file.path[:80]!r} is not below its directory"
                    if problem := self._contents.problem(file.sha256, file.bytes):
                        yield f"the feedback file {file.path[:80]!r} on turn {event.turn}: {problem}"
                self._feedback.append(event.turn)
            case CallStarted() if not self._called:
                self._called = True
                has_feedback = self._start is not None and self._start.chain is not None and self._start.self_corrects
                turn = self._start.turn if self._start is not None and has_feedback else None
                for earlier in range(1, min(turn or 1, 1000)):
                    if earlier not in self._feedback:
                        yield f"turn {turn} begins without the feedback on turn {earlier}"

    def end(self) -> Iterator[str]:
        return iter(())

    @staticmethod
    def _place(start: TrialStarted) -> Iterator[str]:
        chain, turn = start.chain, start.turn
        if chain is None:
            return
        if turn is None:
            yield "the trial is in a chain, but has no turn"
            return
        if chain.stages and len(chain.stages) != chain.turns:
            yield f"the chain has {chain.turns} turns, but {len(chain.stages)} stages"
        if chain.turns < 2 and not chain.stages:
            yield f"the chain has {chain.turns} turns"
        if turn > chain.turns:
            yield f"the trial is turn {turn} of {chain.turns}"
        name = name_of_turn(chain.first, turn)
        if start.trial not in (name, name_of_rerun(name, start.rerun or 0)):
            yield f"turn {turn} of the chain {chain.first[:80]!r} has the id {start.trial[:80]!r}"

    def _of_earlier_turn(self, event: Feedback) -> Iterator[str]:
        start = self._start
        if start is None:
            return
        chain = start.chain
        if chain is None:
            if start.parent is None:
                yield "feedback outside of a chain, in a trial that is not a fork"
        else:
            if event.form != chain.feedback:
                yield f"the feedback has the form {event.form}, but that of the chain is {chain.feedback}"
            if not 1 <= event.turn < (start.turn or 1):
                yield f"turn {start.turn} has feedback on turn {event.turn}"
            elif not is_trial_or_rerun(event.source.trial, name := name_of_turn(chain.first, event.turn)):
                yield f"the feedback on turn {event.turn} comes from {event.source.trial[:80]!r} instead of {name!r}"
        if event.source.evaluation < 1:
            yield f"the feedback on turn {event.turn} comes from evaluation {event.source.evaluation}"
        if event.turn in self._feedback:
            yield f"the feedback on turn {event.turn} comes twice"


class Questions:
    """Rule `questions`: questions and tries are numbered, the last answer is not refused, and calls belong to them."""

    name = "questions"

    def __init__(self) -> None:
        self._start: TrialStarted | None = None
        self._question: Asked | None = None
        self._answer: Answered | None = None
        """Last answer to this question."""
        self._calls: dict[int, int | None] = {}
        """By number of an expert's call, its question."""
        self._results: dict[int, RoleCallFinished] = {}

    def feed(self, event: Event) -> Iterator[str]:
        match event:
            case TrialStarted():
                self._start = self._start or event
                expert = event.guidance
                if expert is not None and expert.max < 1:
                    yield f"the expert answers {expert.max} questions"
                if expert is not None and (expert.by == "model") != (expert.model is not None):
                    yield f"the answers come by {expert.by}, but the model is {expert.model and expert.model.name!r}"
            case Asked():
                yield from self._asked(event)
                self._question, self._answer = event, None
            case Answered():
                yield from self._answered(event)
                self._answer = event
            case RoleCallStarted(role="expert"):
                self._calls[event.call] = event.purpose.question
                if self._question is None or event.purpose.question != self._question.question:
                    yield f"role call {event.call} is about question {event.purpose.question}, which is not asked"
            case RoleCallFinished():
                self._results[event.call] = event

    def end(self) -> Iterator[str]:
        return iter(())

    def _asked(self, event: Asked) -> Iterator[str]:
        expert = self._start.guidance if self._start is not None else None
        before = self._question
        if expert is None:
            yield f"question {event.question}, but the trial has no expert"
        expected = 1 if before is None else before.question + 1
        if event.question != expected:
            yield f"question {event.question} instead of {expected}"
        if before is not None and (self._answer is None or self._answer.status == "refused"):
            yield f"question {before.question} was not answered before question {event.question}"
        most = expert.max if expert is not None else 0
        left = most if before is None else max(0, before.left - 1)
        is_first_of_fork = before is None and self._start is not None and self._start.parent is not None
        if expert is not None and (not 0 <= event.left <= most if is_first_of_fork else event.left != left):
            yield f"question {event.question} has {event.left} answers left instead of {left}"
        if not event.action.startswith(f"{event.step}."):
            yield f"question {event.question} of step {event.step} is the action {event.action[:40]!r}"

    def _answered(self, event: Answered) -> Iterator[str]:
        question, before = self._question, self._answer
        if question is None or event.question != question.question:
            yield f"an answer belongs to question {event.question}, which is not asked"
            return
        expected = 1 if before is None else before.try_ + 1
        if event.try_ != expected:
            yield f"answer {event.try_} to question {event.question} instead of {expected}"
        if before is not None and before.status != "refused":
            yield f"question {event.question} is answered again"
        expert = self._start.guidance if self._start is not None else None
        if expert is not None and (event.by, event.rule) != (expert.by, expert.rule):
            yield (
                f"the answer to question {event.question} comes by {event.by} under the rule {event.rule}, but the "
                f"expert is {expert.by} under {expert.rule}"
            )
        if not question.left and event.status != "nobody":
            yield f"question {event.question} is {event.status}, but no answers are left"
        if event.status == "refused" and event.line is None:
            yield f"an answer to question {event.question} is refused, but no line breaks the rule"
        yield from self._call(event)

    def _call(self, event: Answered) -> Iterator[str]:
        if event.call is None:
            return  # also an answer that a replay takes from the record of a model's
        result = self._results.get(event.call)
        if event.call not in self._calls or self._calls[event.call] != event.question:
            yield f"the answer to question {event.question} comes from role call {event.call}, which is not about it"
        elif event.status != "nobody" and (result is None or result.text != event.text):
            yield f"the answer to question {event.question} is not the text of role call {event.call}"
