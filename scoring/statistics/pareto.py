"""The Pareto front: configurations that no other one beats on both quality and cost."""

from __future__ import annotations

from collections.abc import Mapping


def front(points: Mapping[str, tuple[float | None, float | None]]) -> list[str]:
    """Return the names on the Pareto front of (quality, cost), the cheapest first.

    A point is beaten by another that is at least as good in both and better in one; equal points are both on the front.
    A point of unknown quality or cost is not on the front and beats no other.
    """
    by_cost = sorted(
        (cost, -quality, name) for name, (quality, cost) in points.items() if quality is not None and cost is not None
    )
    kept: list[str] = []
    best = float("-inf")
    best_cost = float("-inf")
    for cost, negative, name in by_cost:
        quality = -negative
        if quality > best or (quality == best and cost == best_cost):
            kept.append(name)
            best, best_cost = quality, cost
    return kept
