"""The end of a trial: the closed set of reasons, and their causes.

Nothing else may end a trial. An evaluation has its own status and never changes an exit. A later version may add a
cause to a reason: readers decide by the reason, and take a cause that they do not know as it stands.
"""

from __future__ import annotations

from typing import Literal, Self, get_args

from pydantic import BaseModel, ConfigDict, model_validator

from trajectories.record.base import Words

Reason = Literal["agent", "limit", "infrastructure", "user"]
Cause = Literal[
    "submitted",
    "format_errors",
    "refusal",
    "gave_up",
    "agent_exited",
    "agent_hung",
    "steps",
    "time",
    "tokens",
    "cost",
    "context",
    "model_unavailable",
    "environment_lost",
    "image_unusable",
    "agent_unusable",
    "disk_full",
    "harness_defect",
    "interrupted",
    "budget",
]

CAUSES: dict[Reason, tuple[Cause, ...]] = {
    "agent": ("submitted", "format_errors", "refusal", "gave_up", "agent_exited", "agent_hung"),
    "limit": ("steps", "time", "tokens", "cost", "context"),
    "infrastructure": (
        "model_unavailable",
        "environment_lost",
        "image_unusable",
        "agent_unusable",
        "disk_full",
        "harness_defect",
    ),
    "user": ("interrupted", "budget"),
}
assert {cause for causes in CAUSES.values() for cause in causes} == set(get_args(Cause))


class Exit(BaseModel):
    """The end of a trial."""

    model_config = ConfigDict(frozen=True)

    reason: Reason
    """Who or what ended the trial."""
    cause: Cause | str
    """Cause within the reason. A later version may have added one."""
    detail: Words = ""
    """Detail for people, in one line."""

    @model_validator(mode="after")
    def _cause_belongs_to_reason(self) -> Self:
        if self.cause not in CAUSES[self.reason] and self.cause in get_args(Cause):
            raise ValueError(f"exit cause {self.cause!r} does not belong to reason {self.reason!r}")
        return self

    @classmethod
    def of(cls, cause: Cause, detail: str = "") -> Exit:
        """Return the exit with this cause. Every cause belongs to exactly one reason."""
        reason = next(reason for reason, causes in CAUSES.items() if cause in causes)
        return cls(reason=reason, cause=cause, detail=detail)

    def __str__(self) -> str:
        return f"{self.reason}: {self.cause}"
