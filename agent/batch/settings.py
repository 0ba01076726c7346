"""Settings of one run of a batch. They are not part of its identity, so they may differ in the next run."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Settings:
    """Settings of one run of a batch."""

    workers: int = 4
    """Largest number of trials at once."""
    evaluations: int = 2
    """Largest number of evaluations at once on one machine."""
    reruns: int = 2
    """Largest number of resumes and reruns of a unit after infrastructure failures."""
    budget_usd: float | None = None
    """Dollars that all calls together may cost; None is no limit."""
    budget_tokens: int | None = None
    evaluate: bool = True
    """False if evaluations are postponed."""
