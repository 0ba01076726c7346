"""ProgramBench's difficulty and tiers, from the size of the original program."""

from __future__ import annotations

import math

from scoring.agentmeter.tiers import Tier
from scoring.errors import ScoringError


def difficulty(lines: int, dependencies: int) -> float:
    """Return clamp(log10(lines) + log10(1 + dependencies) - 2, 0, 10).

    Raises: ScoringError for a program without lines, or a negative number.
    """
    if lines < 1 or dependencies < 0:
        raise ScoringError(f"no difficulty for {lines} lines and {dependencies} dependencies")
    return min(10.0, max(0.0, math.log10(lines) + math.log10(1 + dependencies) - 2))


def tier(lines: int, dependencies: int) -> Tier:
    """Return easy for a difficulty below 2, medium below 4, otherwise hard.

    Raises: ScoringError as `difficulty` does.
    """
    value = difficulty(lines, dependencies)
    return "easy" if value < 2 else "medium" if value < 4 else "hard"
