"""Interventions in a trial: plans, feedback between turns, questions with their answers, and the mode that follows.

The mode names, in the words of LongCLI-Bench, how people or other models take part. It follows from other fields of the
first event, and is stored so that readers of the record need not derive it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Literal

from pydantic import ConfigDict, Field

from trajectories.record.base import BaseEvent, Part, Words, is_empty, is_none
from trajectories.record.parts import ModelRef, TextRef
from trajectories.record.usage import Costs

BASE = "base"

FeedbackForm = Literal["output", "failing", "scores", "paths"]
"""Forms of the feedback between turns: the raw output of the tests, the cases that failed with their messages, the
scores of each group of tests, or the paths of the logs."""

Conversation = Literal["fresh", "same"]
"""Conversation of a later turn: a new one, or that of the turn before."""

Until = Literal["fixed", "passed"]
"""End of a chain: after a fixed number of turns, or as soon as a turn passes."""

ChainResult = Literal["mean", "last"]
"""Result of a task with stages: the mean over the stages that were judged, or the verdict of the last one of them."""

CodeRule = Literal["no-code", "none"]
"""Rule for the texts of plans and answers: they must hold no code, or anything is allowed."""

Author = Literal["file", "model", "person"]
"""Author of a plan: unknown (it came as a file), a model, or a person who was asked for it."""

Expert = Literal["human", "file", "model"]
"""Source of the answers to an agent's questions: a person at the terminal, a file of answers, or a model."""

AnswerStatus = Literal["given", "refused", "nobody", "replaced"]
"""Result of asking for an answer. `given`: the agent gets it. `refused`: it breaks the rule, and is asked for again.
`replaced`: the last allowed try was refused, and the agent gets a fixed text. `nobody`: no answer is available, and the
agent gets a fixed text."""


class Plan(TextRef):
    """A plan that the model is given."""

    author: Author | None = Field(default=None, exclude_if=is_none)
    """Author of the plan. null before 2.1."""
    model: ModelRef | None = Field(default=None, exclude_if=is_none)
    """Model that wrote it, if one did."""
    costs: Costs | None = Field(default=None, exclude_if=is_none)
    """Costs of the calls that made it. null for a plan from a file. They are not part of the trial's costs."""
    record: str | None = Field(default=None, exclude_if=is_none)
    """Name of the record of these calls. Trials with the same plan share it."""
    rule: CodeRule | None = Field(default=None, exclude_if=is_none)
    """Rule that the plan was checked by. null before 2.1."""
    step: int | None = Field(default=None, exclude_if=is_none)
    """Step after which it was given: 0 before the first call; in a fork, the step of the parent. null before 2.1."""


class ChainStage(Part):
    """A stage of a task that has several."""

    name: Words
    """Name of the stage."""
    gate: dict[str, float] = Field(default_factory=dict)
    """Least values of metrics of the verdict. The chain ends after the stage if one of them is lower or missing."""


class Chain(Part):
    """A chain of trials, its turns, one after the other in the same workspace.

    Either all turns are rounds at the same task, with feedback in between, or each turn is one stage of a task that has
    several.
    """

    first: str
    """Id of the trial that is turn 1."""
    turns: int
    """Number of turns that the chain may have."""
    feedback: FeedbackForm | None
    """Form of the feedback. null for the stages of a task."""
    conversation: Conversation
    """Conversation of later turns."""
    until: Until
    """End of the chain."""
    stages: tuple[ChainStage, ...] = Field(default=(), exclude_if=is_empty)
    """Stages of the task, one for each turn. Empty if the turns are rounds with feedback."""
    result: ChainResult | None = Field(default=None, exclude_if=is_none)
    """Result of all stages together. null without stages."""

    @property
    def unit(self) -> Literal["stage", "turn"]:
        """Word for one of the turns."""
        return "stage" if self.stages else "turn"

    def in_words(self, turn: int) -> str:
        """Return a turn in words, with the name of its stage."""
        names = "".join(f" ({stage.name})" for stage in self.stages[turn - 1 : turn])
        return f"{self.unit} {turn} of {self.turns}{names}"

    def goes_on_after(self, turn: int, *, passed: bool | None, metrics: Mapping[str, float]) -> bool:
        """Return True if another turn follows one with this verdict."""
        if turn >= self.turns or (self.until == "passed" and passed):
            return False
        gates = [stage.gate for stage in self.stages[turn - 1 : turn]]
        return all(metrics.get(name, -math.inf) >= least for gate in gates for name, least in gate.items())


class Guidance(Part):
    """The expert whom the model may ask."""

    by: Expert
    """Source of the answers."""
    model: ModelRef | None = None
    """Model that answers, if one does."""
    prompt: TextRef | None = None
    """Prompt of that model."""
    file: TextRef | None = None
    """File with the answers, if they come from one."""
    max: int
    """Number of questions that are answered. Later ones get a fixed text."""
    rule: CodeRule
    """Rule for the answers."""
    solution_shown: bool | None = None
    """True if the model that answers sees the task's reference solution. null if no model answers."""


class FeedbackSource(Part):
    """The evaluation that a feedback comes from."""

    trial: str
    """Id of the trial that was evaluated."""
    evaluation: int
    """Number of the evaluation in its record."""


class FeedbackFile(Part):
    """A file of the feedback, in the directory `/feedback/turn-<n>` of the environment."""

    path: Words
    """Path relative to that directory."""
    bytes: int
    """Size of the file."""
    sha256: str
    """sha256 of the file, and the name of the blob that holds it."""


class Feedback(BaseEvent):
    """The result of an earlier turn lies in the environment.

    A turn, and a fork of one, holds one such event for each earlier turn, in order. The text of the last one is a
    message of the reason `feedback`.
    """

    type: Literal["feedback"] = "feedback"
    turn: int
    """Number of the turn whose result it is."""
    form: FeedbackForm
    """Form of the feedback."""
    source: FeedbackSource = Field(alias="from")
    """Evaluation that it comes from."""
    files: tuple[FeedbackFile, ...] = ()
    """Files that were put into `/feedback/turn-<n>`."""

    model_config = ConfigDict(frozen=True, extra="ignore", populate_by_name=True)


class Asked(BaseEvent):
    """The agent asks the expert. The trial's clock stands until the answer."""

    type: Literal["question"] = "question"
    question: int
    """Number of the question in its record, from 1."""
    action: str
    """Address of the action that asks: `step.i`."""
    step: int
    """Step that asks."""
    text: Words
    """The question."""
    left: int
    """Number of questions that are still answered, this one included; 0 if this one is not passed on to the expert."""
    tool_call_id: Words | None = None
    """Id of the tool call that asked. null if the question stood in the reply's text."""


class Answered(BaseEvent):
    """One answer of the expert. The last one of a question is not `refused`, and goes to the agent."""

    type: Literal["answer"] = "answer"
    question: int
    """Number of the question."""
    try_: int = Field(alias="try", default=1)
    """Number of this answer among those to the same question, from 1."""
    by: Expert
    """Source of the answer."""
    status: AnswerStatus
    """Result."""
    text: Words
    """The answer as it came; empty if nobody answered."""
    rule: CodeRule
    """Rule that it was checked by."""
    line: Words | None = None
    """Line that breaks the rule, if one does."""
    broken: str | None = Field(default=None, exclude_if=is_none)
    """Part of the rule that the line breaks, if it does."""
    call: int | None = None
    """Number of the role call that brought the answer, if a model gave it."""

    model_config = ConfigDict(frozen=True, extra="ignore", populate_by_name=True)


def mode_of(*, chain: bool, plan: bool, guidance: bool = False) -> str:
    """Return the mode of a trial: in a chain of turns with feedback, with a plan, and with an expert, or not."""
    parts = (("self-correction", chain), ("plan", plan), ("interactive", guidance))
    return "-and-".join(name for name, present in parts if present) or BASE
