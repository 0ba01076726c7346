"""Counts of one run of a batch."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass
class Counts:
    """Counts since the coordinator began."""

    calls: int = 0
    prompt_tokens: int = 0
    cached_tokens: int = 0
    durations: list[float] = field(default_factory=list)
    """Seconds that each unit took which ended in this run."""
