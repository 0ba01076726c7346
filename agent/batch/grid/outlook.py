"""The outlook of a batch before anything starts: its units, and the most that they can cost."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from agent.batch.grid.freeze import check_growth, units_of
from agent.batch.grid.lines import GridLine
from agent.batch.grid.resolve import Grid
from trajectories.batches.events import BatchEvent, Ended


@dataclass(frozen=True)
class ArmOutlook:
    """One arm of a grid."""

    arm: str
    configurations: int
    units: int
    largest_cost_usd: float | None
    """Largest cost of its units together, each but for its last call; None if nothing bounds it."""
    reason: str
    """The bound of one unit, or the reason for which there is none."""


@dataclass(frozen=True)
class Outlook:
    """A grid, its units and their largest cost."""

    arms: tuple[ArmOutlook, ...]
    units: int
    planned: int
    """Number of units that the batch in the folder had planned before."""
    finished: int
    """Number of units that were finished before."""
    largest_cost_usd: float | None
    """Largest cost of all units together, under the budget; None if nothing bounds it."""
    reason: str


def outlook_of(grid: Grid, events: Sequence[BatchEvent]) -> Outlook:
    """Return the outlook of a grid, with what the journal of its batch tells.

    Raises: UserError if the folder holds another batch; RecordError.
    """
    units = units_of(grid)
    planned = check_growth(grid, grid.folder, events, units)
    last = {event.unit: event.status for event in events if isinstance(event, Ended)}
    finished = sum(last.get(unit.unit) == "finished" for unit in units)
    attempts = grid.spec.attempts
    arms = tuple(
        _arm(arm.name, [line for line in grid.lines if line.combination.arm is arm], attempts) for arm in grid.spec.arms
    )
    largest, reason = _largest(arms, grid.spec.budget.usd)
    return Outlook(arms, grid.units, len(planned), finished, largest, reason)


def _arm(name: str, lines: Sequence[GridLine], attempts: int) -> ArmOutlook:
    costs = [line.bound.usd for line in lines]
    unknown = next((line.bound for line in lines if line.bound.usd is None), None)
    known = [cost for cost in costs if cost is not None]
    reasons = dict.fromkeys(line.bound.reason for line in lines if line.bound.usd)
    reason = unknown.reason if unknown is not None else _first(reasons) or "its models cost nothing"
    total = None if unknown is not None else sum(known) * attempts
    return ArmOutlook(name, len(lines), len(lines) * attempts, total, reason)


def _first(reasons: Iterable[str]) -> str:
    names = list(reasons)
    return "" if not names else names[0] if len(names) == 1 else f"{names[0]}, and others"


def _largest(arms: Sequence[ArmOutlook], budget_usd: float | None) -> tuple[float | None, str]:
    """Return the largest cost of all arms under the budget, and where it comes from."""
    unknown = next((arm for arm in arms if arm.largest_cost_usd is None), None)
    total = None if unknown is not None else sum(arm.largest_cost_usd or 0.0 for arm in arms)
    if budget_usd is not None and (total is None or total > budget_usd):
        return budget_usd, "the budget, which is never exceeded by calls with a price"
    if unknown is not None:
        return None, f"{unknown.reason} (arm {unknown.arm}); `budget.usd` sets a bound"
    return total, "the limits of its trials; the last call of each, and reruns, come on top"
