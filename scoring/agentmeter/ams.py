"""The AgentMeter Score: success first, quality within budgets second, expensive failures as a penalty.

Source: AgentMeter, arXiv 2606.21140, eq. 3 to 8. The score is over tasks, not trials. If a task has several trials, the
caller chooses one (`scoring.selecting.selection.latest_completed`) or passes all of them, which are averaged within the
task.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean

from pydantic import BaseModel, ConfigDict

from scoring.agentmeter.profiles import Profile
from scoring.agentmeter.tiers import TIERS, Tier
from scoring.errors import ScoringError
from scoring.rows import TrialRow
from scoring.selecting.selection import passed_and_quality

_ROUNDING = 1 + 1e-9
"""Tolerance for costs, which are sums of floats: ten calls of $0.01 are within a budget of $0.10."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """One trial as AMS sees it: y, R from 0 to 1 and C in US dollars. Without a verdict y is False and R is 0."""

    passed: bool
    quality: float
    cost_usd: float | None
    """None is unknown: within no budget, and not an expensive failure."""


class BudgetPoint(BaseModel):
    """CBQ at one budget."""

    model_config = ConfigDict(frozen=True)

    budget_usd: float
    quality: float


class TierScore(BaseModel):
    """One tier of one configuration. All shares are of `tasks`: every task of the tier, tried or not."""

    model_config = ConfigDict(frozen=True)

    tier: Tier
    tasks: int
    missing: int
    """Tasks without a trial; they contribute nothing."""
    unknown_cost: int
    """Tasks with a trial of unknown cost, which is within no budget."""
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
"""The trials of each task. A task of the tiers that is not in it has no trial."""


def outcomes_of(rows: Sequence[TrialRow]) -> dict[str, list[Outcome]]:
    """Return the trials of each task as AMS sees them."""
    outcomes: dict[str, list[Outcome]] = {}
    for row in rows:
        passed, quality = passed_and_quality(row)
        outcomes.setdefault(row.task, []).append(Outcome(passed, quality, row.cost_usd))
    return outcomes


def score(outcomes: Outcomes, tiers: Mapping[str, Tier], profile: Profile) -> Ams:
    """Return AMS and its parts. `tiers` names every task of the benchmark, including those that nobody tried.

    Eq. 3 to 8: CBQ_g(b) = mean over the tier's tasks of R where C <= b, else 0; CostAUBQC_g = mean of CBQ_g over the
    grid; SR_g = share of tasks passed; EFR_g = share with y = 0 and C > tau_g; TierScore_g =
    (alpha SR_g + (1 - alpha) CostAUBQC_g) (1 - EFR_g); AMS = mean over the tiers.

    Raises: ScoringError for a task that is in no tier.
    """
    by_tier = tasks_by_tier(outcomes, tiers)
    scores = tuple(_tier_score(tier, by_tier[tier], outcomes, profile) for tier in TIERS if by_tier[tier])
    return Ams(
        ams=fmean(tier.score for tier in scores) if len(scores) == len(TIERS) else None,
        tiers=scores,
        profile=profile.name,
        profile_sha256=profile.sha256,
    )


def tasks_by_tier(outcomes: Outcomes, tiers: Mapping[str, Tier]) -> dict[Tier, list[str]]:
    """Return the tasks of each tier.

    Raises: ScoringError for a task with trials that is in no tier, or an unknown tier.
    """
    for task in outcomes:
        if task not in tiers:
            raise ScoringError(f"{task} is in no tier: name its tier (easy, medium, hard), or leave its trials out")
    by_tier: dict[Tier, list[str]] = {tier: [] for tier in TIERS}
    for task in sorted(tiers):
        if tiers[task] not in by_tier:
            raise ScoringError(f"{task}: unknown tier {tiers[task]!r}: a tier is one of {', '.join(TIERS)}")
        by_tier[tiers[task]].append(task)
    return by_tier


def task_parts(tier: Tier, trials: Sequence[Outcome], profile: Profile) -> tuple[float, float, float]:
    """Return the contributions of one task to SR, CostAUBQC and EFR, before the division by the number of tasks."""
    if not trials:
        return 0.0, 0.0, 0.0
    budgets = profile.tiers[tier]
    return (
        fmean(trial.passed for trial in trials),
        fmean(_quality_within(trials, budget) for budget in budgets.grid_usd),
        fmean(_is_expensive_failure(trial, budgets.expensive_failure_usd) for trial in trials),
    )


def _tier_score(tier: Tier, tasks: Sequence[str], outcomes: Outcomes, profile: Profile) -> TierScore:
    parts = [task_parts(tier, outcomes.get(task, ()), profile) for task in tasks]
    success, aubqc, expensive = (fmean(column) for column in zip(*parts, strict=True))
    curve = tuple(
        BudgetPoint(budget_usd=budget, quality=fmean(_quality_within(outcomes.get(task, ()), budget) for task in tasks))
        for budget in profile.tiers[tier].grid_usd
    )
    return TierScore(
        tier=tier,
        tasks=len(tasks),
        missing=sum(not outcomes.get(task) for task in tasks),
        unknown_cost=sum(any(trial.cost_usd is None for trial in outcomes.get(task, ())) for task in tasks),
        success_rate=success,
        curve=curve,
        cost_aubqc=aubqc,
        expensive_failure_rate=expensive,
        score=(profile.alpha * success + (1 - profile.alpha) * aubqc) * (1 - expensive),
    )


def _quality_within(trials: Sequence[Outcome], budget: float) -> float:
    return fmean(trial.quality if _is_within(trial, budget) else 0.0 for trial in trials) if trials else 0.0


def _is_expensive_failure(trial: Outcome, threshold: float) -> bool:
    return not trial.passed and trial.cost_usd is not None and not _is_within(trial, threshold)


def _is_within(trial: Outcome, budget: float) -> bool:
    return trial.cost_usd is not None and trial.cost_usd <= budget * _ROUNDING
