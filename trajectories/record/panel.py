"""A panel of model judges in the record: its two events, the questions and the answers.

A panel belongs to a trial. Its requests are role calls (`trajectories.record.roles`), whose cost is not part of the
trial's cost.
"""

from __future__ import annotations

from typing import Literal, get_args

from pydantic import Field

from trajectories.record.base import BaseEvent, Part, Words
from trajectories.record.parts import ModelRef, PriceRef, TextRef

Kind = Literal["source_lookup", "wrapping", "decompiling", "tracing"]
KINDS: tuple[Kind, ...] = get_args(Kind)
"""Questions of an integrity panel."""

INTEGRITY = "integrity"
"""Subject of an integrity panel."""

VoteOutcome = Literal["valid", "invalid", "failed", "not_asked"]
"""Result of one judge: a valid answer, two malformed answers, no reply, or not asked because of the cost limit."""


class Answer(Part):
    """A judge's answer to one question."""

    violated: bool
    """True if the judge sees a violation."""
    confidence: float | None = Field(default=None, ge=0, le=1)
    """Confidence that the judge states. null if it states none."""
    step: int | None = None
    """Step in which the judge sees the evidence."""
    why: Words = ""
    """Reason that the judge gives."""


class PanelStarted(BaseEvent):
    """Model judges are about to be asked about the finished trial.

    If a judge has no `vote`, it was interrupted. Judges are not part of the trial's own usage and cost.
    """

    type: Literal["panel_started"] = "panel_started"
    panel: int
    """Number of the panel in this trial, from 1."""
    about: str
    """Subject of the panel, for example `integrity`."""
    questions: tuple[str, ...]
    """Names of the questions."""
    judges: tuple[ModelRef, ...]
    """Models of the judges, in the order of their numbers."""
    prompt: TextRef
    """Prompt of the judges."""
    case: TextRef
    """Text about the trial that every judge was given."""
    left_out: tuple[Words, ...] = ()
    """Parts of the trial that this text leaves out because of its length, one line each."""
    prices: PriceRef | None = None
    """Price snapshot from which the costs are computed."""


class Voted(BaseEvent):
    """The vote of one judge. Only a valid vote counts, but every request that was made for it is kept."""

    type: Literal["vote"] = "vote"
    panel: int
    """Number of the panel in this trial."""
    judge: int
    """Number of the judge in its panel, from 1."""
    outcome: VoteOutcome
    """Result of asking the judge."""
    answers: dict[str, Answer] = Field(default_factory=dict)
    """Answers by question, if the vote is valid."""
    calls: tuple[int, ...] = ()
    """Numbers of the role calls that were made to the judge, in order."""
