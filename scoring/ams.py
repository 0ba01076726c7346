"""The AgentMeter Score: success first, quality within budgets second, expensive failures as a penalty.

Source: AgentMeter, arXiv 2606.21140, eq. 3 to 8. Over tasks, not trials: where a task has several, the caller takes
one (`scoring.selection.latest_completed`) or hands over all, which are averaged within the task.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import TYPE_CHECKING

from pydantic import BaseModel, ConfigDict

from scoring.errors import ScoringError
from scoring.intervals import LEVEL, REPLICATES, SEED, Estimate, no_bootstrap, percentiles, resampled_sums
from scoring.profiles import Profile
from scoring.rows import TrialRow
from scoring.selection import outcome
from scoring.tiers import TIERS, Tier

if TYPE_CHECKING:
    from scoring.intervals import Array

_ROUNDING = 1 + 1e-9
"""A cost is a sum of floats: ten calls of $0.01 are within a budget of $0.10."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """One trial as AMS sees it: y, R in [0, 1] and C in US dollars. Without a verdict: False and 0."""

    passed: bool
    quality: float
    cost_usd: float | None
    """None (unknown) is within no budget, and no expensive failure."""


class BudgetPoint(BaseModel):
    """CBQ at one budget."""

    model_config = ConfigDict(frozen=True)

    budget_usd: float
    quality: float


class TierScore(BaseModel):
    """One tier of one configuration. All shares are of `tasks`, which is every task of the tier, tried or not."""

    model_config = ConfigDict(frozen=True)

    tier: Tier
    tasks: int
    missing: int
    """Tasks without a trial: they contribute nothing."""
    unknown_cost: int
    """Tasks with a trial whose cost is unknown: within no budget."""
    success_rate: float
    curve: tuple[BudgetPoint, ...]
    cost_aubqc: float
    expensive_failure_rate: float
    score: float


class Ams(BaseModel):
    """AMS of one configuration; None unless all three tiers have tasks."""

    model_config = ConfigDict(frozen=True)

    ams: float | None
    tiers: tuple[TierScore, ...]
    profile: str
    profile_sha256: str


Outcomes = Mapping[str, Sequence[Outcome]]
"""By task, its trials; a task of the tiers that is not in it has none."""


def outcomes_of(rows: Sequence[TrialRow]) -> dict[str, list[Outcome]]:
    """By task, each trial as AMS sees it."""
    found: dict[str, list[Outcome]] = {}
    for row in rows:
        passed, quality = outcome(row)
        found.setdefault(row.task, []).append(Outcome(passed, quality, row.cost_usd))
    return found


def score(outcomes: Outcomes, tiers: Mapping[str, Tier], profile: Profile) -> Ams:
    """AMS and its parts. `tiers` names every task of the benchmark, also those that nobody tried.

    Eq. 3 to 8: CBQ_g(b) = mean over the tier's tasks of R where C <= b, else 0; CostAUBQC_g = mean of CBQ_g over the
    grid; SR_g = share of tasks passed; EFR_g = share with y = 0 and C > tau_g; TierScore_g =
    (alpha SR_g + (1 - alpha) CostAUBQC_g) (1 - EFR_g); AMS = mean over the tiers.

    Raises: ScoringError for a task that is in no tier.
    """
    by_tier = _by_tier(outcomes, tiers)
    scores = tuple(_tier_score(tier, by_tier[tier], outcomes, profile) for tier in TIERS if by_tier[tier])
    return Ams(
        ams=fmean(one.score for one in scores) if len(scores) == len(TIERS) else None,
        tiers=scores,
        profile=profile.name,
        profile_sha256=profile.sha256,
    )


def replicates_of(
    outcomes: Outcomes, tiers: Mapping[str, Tier], profile: Profile, *, seed: int = SEED, replicates: int = REPLICATES
) -> Array | None:
    """AMS of each bootstrap replicate: tasks are drawn with replacement within their tier, so tiers keep their sizes.

    Configurations over the same tiers and seed are drawn alike. None where there is no bootstrap (`no_bootstrap`),
    or no AMS.
    """
    by_tier = _by_tier(outcomes, tiers)
    if any(no_bootstrap(len(by_tier[tier])) for tier in TIERS):
        return None
    import numpy as np

    total = np.zeros(replicates)
    for tier in TIERS:
        tasks = by_tier[tier]
        columns = np.array([_parts(tier, outcomes.get(task, ()), profile) for task in tasks])
        success, aubqc, expensive = (resampled_sums(tasks, columns, seed=seed, replicates=replicates) / len(tasks)).T
        total += (profile.alpha * success + (1 - profile.alpha) * aubqc) * (1 - expensive)
    return total / len(TIERS)


def estimate(
    outcomes: Outcomes,
    tiers: Mapping[str, Tier],
    profile: Profile,
    *,
    level: float = LEVEL,
    seed: int = SEED,
    replicates: int = REPLICATES,
) -> Estimate:
    """AMS with its bootstrap interval."""
    value = score(outcomes, tiers, profile).ams
    drawn = replicates_of(outcomes, tiers, profile, seed=seed, replicates=replicates) if value is not None else None
    return _estimate(value, drawn, [outcomes], tiers, level, f"{replicates} replicates, seed {seed}")


def difference(
    one: Outcomes,
    other: Outcomes,
    tiers: Mapping[str, Tier],
    profile: Profile,
    *,
    level: float = LEVEL,
    seed: int = SEED,
    replicates: int = REPLICATES,
) -> Estimate:
    """AMS of `one` less that of `other`, both scored on the same drawn tasks (paired)."""
    values = [score(side, tiers, profile).ams for side in (one, other)]
    drawn = [replicates_of(side, tiers, profile, seed=seed, replicates=replicates) for side in (one, other)]
    value = values[0] - values[1] if values[0] is not None and values[1] is not None else None
    apart = drawn[0] - drawn[1] if drawn[0] is not None and drawn[1] is not None else None
    return _estimate(value, apart, [one, other], tiers, level, f"paired, {replicates} replicates, seed {seed}")


def _estimate(
    value: float | None,
    drawn: Array | None,
    sides: Sequence[Outcomes],
    tiers: Mapping[str, Tier],
    level: float,
    how: str,
) -> Estimate:
    low, high = percentiles(drawn, level) if drawn is not None and value is not None else (None, None)
    sizes = [sum(tier == wanted for tier in tiers.values()) for wanted in TIERS]
    method = f"bootstrap by task within tiers, {how}" if low is not None else no_bootstrap(min(sizes))
    if value is None:
        method = "no AMS: a tier has no tasks"
    return Estimate(
        value=value,
        low=low,
        high=high,
        level=level,
        method=method,
        trials=sum(len(found) for side in sides for found in side.values()),
        tasks=len(tiers),
        missing=sum(any(not side.get(task) for side in sides) for task in tiers),
    )


def _by_tier(outcomes: Outcomes, tiers: Mapping[str, Tier]) -> dict[Tier, list[str]]:
    for task in outcomes:
        if task not in tiers:
            raise ScoringError(f"{task} is in no tier: say which (easy, medium, hard), or leave its trials out")
    by_tier: dict[Tier, list[str]] = {tier: [] for tier in TIERS}
    for task in sorted(tiers):
        if tiers[task] not in by_tier:
            raise ScoringError(f"{task}: unknown tier {tiers[task]!r}: a tier is one of {', '.join(TIERS)}")
        by_tier[tiers[task]].append(task)
    return by_tier


def _tier_score(tier: Tier, tasks: Sequence[str], outcomes: Outcomes, profile: Profile) -> TierScore:
    parts = [_parts(tier, outcomes.get(task, ()), profile) for task in tasks]
    success, aubqc, expensive = (fmean(column) for column in zip(*parts, strict=True))
    curve = tuple(
        BudgetPoint(budget_usd=budget, quality=fmean(_quality_within(outcomes.get(task, ()), budget) for task in tasks))
        for budget in profile.tiers[tier].grid_usd
    )
    return TierScore(
        tier=tier,
        tasks=len(tasks),
        missing=sum(not outcomes.get(task) for task in tasks),
        unknown_cost=sum(any(one.cost_usd is None for one in outcomes.get(task, ())) for task in tasks),
        success_rate=success,
        curve=curve,
        cost_aubqc=aubqc,
        expensive_failure_rate=expensive,
        score=(profile.alpha * success + (1 - profile.alpha) * aubqc) * (1 - expensive),
    )


def _parts(tier: Tier, trials: Sequence[Outcome], profile: Profile) -> tuple[float, float, float]:
    """What one task adds to SR, CostAUBQC and EFR before they are divided by the number of tasks."""
    if not trials:
        return 0.0, 0.0, 0.0
    budgets = profile.tiers[tier]
    tau = budgets.expensive_failure_usd
    return (
        fmean(one.passed for one in trials),
        fmean(_quality_within(trials, budget) for budget in budgets.grid_usd),
        fmean(not one.passed and one.cost_usd is not None and not _within(one, tau) for one in trials),
    )


def _quality_within(trials: Sequence[Outcome], budget: float) -> float:
    return fmean(one.quality if _within(one, budget) else 0.0 for one in trials) if trials else 0.0


def _within(trial: Outcome, budget: float) -> bool:
    return trial.cost_usd is not None and trial.cost_usd <= budget * _ROUNDING
