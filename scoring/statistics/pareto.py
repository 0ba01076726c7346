"""Which configurations nobody beats on both quality and cost."""

from __future__ import annotations

from collections.abc import Mapping


def front(points: Mapping[str, tuple[float | None, float | None]]) -> list[str]:
    """The names on the Pareto front of (quality, cost), from the cheapest on.

    A point is beaten by one that is no worse in both and better in one; equal points are both on the front. A point
    whose quality or cost is unknown is neither on it nor beats one.
    """
    known = sorted(
        (cost, -quality, name) for name, (quality, cost) in points.items() if quality is not None and cost is not None
    )
    kept: list[str] = []
    best = float("-inf")
    best_cost = float("-inf")
    for cost, negative, name in known:
        quality = -negative
        if quality > best or (quality == best and cost == best_cost):
            kept.append(name)
            best, best_cost = quality, cost
    return kept
