"""Sums that are unknown as soon as one of their values is."""

from __future__ import annotations

from collections.abc import Iterable


def known_sum(values: Iterable[float | None]) -> float | None:
    """Return the sum; None if a value is unknown."""
    total = 0.0
    for value in values:
        if value is None:
            return None
        total += value
    return total
