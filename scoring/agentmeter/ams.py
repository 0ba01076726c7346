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

from scoring.agentmeter.profiles import Profile
from scoring.agentmeter.tiers import TIERS, Tier
from scoring.errors import ScoringError
from scoring.rows import TrialRow
from scoring.selection import outcome
from scoring.statistics.intervals import LEVEL, REPLICATES, SEED, Estimate, no_bootstrap, percentiles, resampled_sums

if TYPE_CHECKING:
    from scoring.statistics.intervals import Array

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


@dataclass(frozen=True)
class Drawn:
    """AMS of one configuration with its bootstrap replicates; comparable over the same tiers, seed and budgets."""

    ams: Ams
    replicates: Array | None
    """None where there is no bootstrap or no AMS; `method` says why."""
    method: str
    trials: int
    tried: frozenset[str]
    tasks: frozenset[str]

    def estimate(self, level: float = LEVEL) -> Estimate:
        """AMS with its interval."""
        return self._estimate(self.ams.ams, self.replicates, level, self.method, self.trials, self.tried)

    def less(self, other: Drawn, level: float = LEVEL) -> Estimate:
        """This AMS less the other's, both on the same drawn tasks (paired).

        Raises: ScoringError if they are not over the same tasks, draws and budgets.
        """
        ours = (self.tasks, self.method, self.ams.profile_sha256)
        if ours != (other.tasks, other.method, other.ams.profile_sha256):
            raise ScoringError("two AMS over other tasks, draws or budgets cannot be compared")
        one, two = self.ams.ams, other.ams.ams
        apart = (
            self.replicates - other.replicates if self.replicates is not None and other.replicates is not None else None
        )
        return self._estimate(
            one - two if one is not None and two is not None else None,
            apart,
            level,
            f"paired {self.method}" if apart is not None else self.method,
            self.trials + other.trials,
            self.tried & other.tried,
        )

    def _estimate(
        self, value: float | None, drawn: Array | None, level: float, method: str, trials: int, tried: frozenset[str]
    ) -> Estimate:
        low, high = percentiles(drawn, level) if drawn is not None else (None, None)
        return Estimate(
            value=value,
            low=low,
            high=high,
            level=level,
            method=method,
            trials=trials,
            tasks=len(self.tasks),
            missing=len(self.tasks - tried),
        )


def draw(
    outcomes: Outcomes, tiers: Mapping[str, Tier], profile: Profile, *, seed: int = SEED, replicates: int = REPLICATES
) -> Drawn:
    """AMS and its bootstrap: tasks are drawn with replacement within their tier, so that tiers keep their sizes.

    Raises: ScoringError as `score` does.
    """
    found = score(outcomes, tiers, profile)
    by_tier = _by_tier(outcomes, tiers)
    method = f"bootstrap by task within tiers, {replicates} replicates, seed {seed}"
    drawn: Array | None = None
    if found.ams is None:
        method = "no AMS: a tier has no tasks"
    elif why := no_bootstrap(min(map(len, by_tier.values()))):
        method = why
    else:
        drawn = _replicates(outcomes, by_tier, profile, seed, replicates)
    return Drawn(
        ams=found,
        replicates=drawn,
        method=method,
        trials=sum(map(len, outcomes.values())),
        tried=frozenset(task for task, trials in outcomes.items() if trials),
        tasks=frozenset(tiers),
    )


def _replicates(
    outcomes: Outcomes, by_tier: Mapping[Tier, Sequence[str]], profile: Profile, seed: int, replicates: int
) -> Array:
    import numpy as np

    total = np.zeros(replicates)
    for tier, tasks in by_tier.items():
        columns = np.array([_parts(tier, outcomes.get(task, ()), profile) for task in tasks])
        success, aubqc, expensive = (resampled_sums(tasks, columns, seed=seed, replicates=replicates) / len(tasks)).T
        total += (profile.alpha * success + (1 - profile.alpha) * aubqc) * (1 - expensive)
    return total / len(by_tier)


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
