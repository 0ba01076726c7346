"""What a panel of model judges is on disk: the questions, one judge's answers, and what asking cost.

Only shapes, used by `events` and by the analysis; a panel belongs to a trial and is no part of its cost.
"""

from __future__ import annotations

from typing import Literal, get_args

from pydantic import Field

from trajectories.parts import Json, Part
from trajectories.usage import Costs, Usage
from trajectories.words import FailureClass

Kind = Literal["source_lookup", "wrapping", "decompiling", "tracing"]
KINDS: tuple[Kind, ...] = get_args(Kind)
"""What an integrity panel is asked about."""

INTEGRITY = "integrity"
"""What such a panel is about."""

Outcome = Literal["valid", "invalid", "failed", "not_asked"]
"""Of one judge: answered in the form asked for; twice not; no reply came; the cost limit was reached before."""


class Answer(Part):
    """One judge on one question."""

    violated: bool
    confidence: float | None = Field(default=None, ge=0, le=1)
    """The judge's own; None if it gives none."""
    step: int | None = None
    """Where the evidence is."""
    why: str = ""


class Ask(Part):
    """One request to a judge, and what came of it. One that failed underway has unknown costs."""

    text: str | None = None
    """The reply's text as it came; None if none came."""
    refusal: str = ""
    malformed: str = ""
    """Why the reply is no answer."""
    error: FailureClass | None = None
    detail: str = ""
    usage_raw: Json | None = None
    usage: Usage | None = None
    costs: Costs | None = None
    """None if nothing says that it was billed."""
    model_served: str | None = None
    latency_s: float | None = None
