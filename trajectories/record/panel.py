"""What a panel of model judges is on disk: its two events, the questions, one judge's answers, what asking cost.

Only shapes, used by `events` and by the analysis; a panel belongs to a trial and is no part of its cost.
"""

from __future__ import annotations

from typing import Literal, get_args

from pydantic import Field

from trajectories.record.base import BaseEvent, Part, Words, WordsJson
from trajectories.record.parts import ModelRef, PriceRef, TextRef
from trajectories.record.usage import Costs, Usage
from trajectories.record.words import FailureClass

Kind = Literal["source_lookup", "wrapping", "decompiling", "tracing"]
KINDS: tuple[Kind, ...] = get_args(Kind)
"""What an integrity panel is asked about."""

INTEGRITY = "integrity"
"""What such a panel is about."""

VoteOutcome = Literal["valid", "invalid", "failed", "not_asked"]
"""Of one judge: answered in the form asked for; twice not; no reply came; the cost limit was reached before."""


class Answer(Part):
    """One judge on one question."""

    violated: bool
    confidence: float | None = Field(default=None, ge=0, le=1)
    """The judge's own; None if it gives none."""
    step: int | None = None
    """Where the evidence is."""
    why: Words = ""


class Ask(Part):
    """One request to a judge, and what came of it. One that failed underway has unknown costs."""

    text: Words | None = None
    """The reply's text as it came; None if none came."""
    refusal: Words = ""
    malformed: Words = ""
    """Why the reply is no answer."""
    error: FailureClass | None = None
    detail: Words = ""
    usage_raw: WordsJson | None = None
    usage: Usage | None = None
    costs: Costs | None = None
    """None if nothing says that it was billed."""
    model_served: Words | None = None
    latency_s: float | None = None


class PanelStarted(BaseEvent):
    """Model judges are about to be asked about the finished trial; a judge without a `vote` was asked and cut off, so
    that nobody knows what it cost. No part of the trial's own usage and cost."""

    type: Literal["panel_started"] = "panel_started"
    panel: int
    """1, 2, ... in this trial."""
    about: str
    """For instance `integrity`."""
    questions: tuple[str, ...]
    judges: tuple[ModelRef, ...]
    """The model of judge 1, 2, ..."""
    prompt: TextRef
    case: TextRef
    """What every judge was given, kept as the blob of this hash."""
    left_out: tuple[Words, ...] = ()
    """Of the trial, for length: one line each."""
    prices: PriceRef | None = None


class Voted(BaseEvent):
    """One judge of a panel. Only a valid vote counts; every request that was made for it is kept."""

    type: Literal["vote"] = "vote"
    panel: int
    judge: int
    """From 1."""
    outcome: VoteOutcome
    answers: dict[str, Answer] = Field(default_factory=dict)
    """By question; only of a valid vote."""
    asks: tuple[Ask, ...] = ()
