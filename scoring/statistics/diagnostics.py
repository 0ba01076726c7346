"""Figures beside a score: passes and their price, effort of passed and failed trials, headlines, gaps.

Every figure has the number of trials or tasks that it is over. A total over trials is None if one of them is unknown;
the known part stands beside it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from statistics import fmean, median
from typing import Literal

from pydantic import BaseModel, ConfigDict

from scoring.agentmeter.tiers import TIERS, Tier
from scoring.errors import ScoringError
from scoring.rows import TrialRow
from scoring.selecting.selection import passed_and_quality
from scoring.statistics.intervals import LEVEL, REPLICATES, SEED, Estimate, mean, rate

ALMOST = 0.95
"""Score from which ProgramBench counts a task as almost resolved; resolved tasks are included. The comparison has a
tolerance of 1e-9, because the mean of attempts at 0.95 is a little less than 0.95."""


class Total(BaseModel):
    """A sum over trials; None if one of them is unknown."""

    model_config = ConfigDict(frozen=True)

    value: float | None
    known: float
    """Sum of the known values: a lower bound."""
    unknown: int
    """Number of trials with an unknown value."""

    @classmethod
    def of(cls, values: Sequence[float | None]) -> Total:
        """Add up the values of trials."""
        numbers = [value for value in values if value is not None]
        total = float(sum(numbers))
        unknown = len(values) - len(numbers)
        return cls(value=None if unknown else total, known=total, unknown=unknown)

    def per(self, count: int) -> float | None:
        """Return the total divided by a count; None if the count is 0 or the total is unknown."""
        return self.value / count if count and self.value is not None else None


class Passed(BaseModel):
    """Passes of one configuration and their costs. AgentMeter's Tok./Pass and USD/Pass divide the usage of all its
    trials, including the failed ones, by the number of passes."""

    model_config = ConfigDict(frozen=True)

    passes: int
    pass_rate: Estimate
    quality: Estimate
    cost: Estimate
    """Mean cost of a task's trial in US dollars, over known costs."""
    tokens: Total
    usd: Total
    tokens_per_pass: float | None
    usd_per_pass: float | None


class Spread(BaseModel):
    """Mean and median over the `n` trials with a known value."""

    model_config = ConfigDict(frozen=True)

    n: int
    mean: float | None
    median: float | None

    @classmethod
    def of(cls, values: Sequence[float | None]) -> Spread:
        """Return mean and median over the values of trials."""
        numbers = [value for value in values if value is not None]
        return cls(
            n=len(numbers), mean=fmean(numbers) if numbers else None, median=median(numbers) if numbers else None
        )


class Effort(BaseModel):
    """Effort of the passed or of the failed trials of a tier."""

    model_config = ConfigDict(frozen=True)

    tier: Tier | Literal["all"]
    passed: bool
    trials: int
    steps: Spread
    commands: Spread
    tokens: Spread
    cost_usd: Spread
    wall_s: Spread


class Headline(BaseModel):
    """Resolved, almost and mean score over a fixed number of tasks. A task that was not tried or not judged scores
    0."""

    model_config = ConfigDict(frozen=True)

    resolved: Estimate
    almost: Estimate
    mean: Estimate


def passed(
    rows: Sequence[TrialRow],
    *,
    missing: int = 0,
    level: float = LEVEL,
    seed: int = SEED,
    replicates: int = REPLICATES,
) -> Passed:
    """Return the passes of one configuration's trials that count; `missing` tasks have no trial.

    Rate and quality are over judged trials; infrastructure failures among `rows` count as failed.
    """
    passes: defaultdict[str, list[bool]] = defaultdict(list)
    qualities: defaultdict[str, list[float]] = defaultdict(list)
    costs: defaultdict[str, list[float]] = defaultdict(list)
    for row in rows:
        if row.judged or row.infrastructure:
            success, quality = passed_and_quality(row)
            passes[row.task].append(success)
            qualities[row.task].append(quality)
        if row.cost_usd is not None:
            costs[row.task].append(row.cost_usd)
    tasks = {row.task for row in rows}
    count = sum(map(sum, passes.values()))
    tokens, usd = Total.of([row.tokens for row in rows]), Total.of([row.cost_usd for row in rows])
    return Passed(
        passes=count,
        pass_rate=rate(passes, missing=missing + len(tasks) - len(passes), level=level),
        quality=mean(
            qualities, missing=missing + len(tasks) - len(qualities), level=level, seed=seed, replicates=replicates
        ),
        cost=mean(costs, missing=missing + len(tasks) - len(costs), level=level, seed=seed, replicates=replicates),
        tokens=tokens,
        usd=usd,
        tokens_per_pass=tokens.per(count),
        usd_per_pass=usd.per(count),
    )


def effort_by_tier(rows: Sequence[TrialRow], tiers: Mapping[str, Tier]) -> list[Effort]:
    """Return mean and median effort of passed and of failed trials, over all tiers and by tier.

    Trials without a verdict are left out.
    """
    judged = [row for row in rows if row.judged and not row.infrastructure]
    groups: list[tuple[Tier | Literal["all"], list[TrialRow]]] = [("all", judged)]
    groups += [(tier, [row for row in judged if tiers.get(row.task) == tier]) for tier in TIERS]
    efforts: list[Effort] = []
    for tier, members in groups:
        for success in (True, False):
            trials = [row for row in members if bool(row.passed) == success]
            if trials:
                efforts.append(
                    Effort(
                        tier=tier,
                        passed=success,
                        trials=len(trials),
                        steps=Spread.of([row.steps for row in trials]),
                        commands=Spread.of([row.commands for row in trials]),
                        tokens=Spread.of([row.tokens for row in trials]),
                        cost_usd=Spread.of([row.cost_usd for row in trials]),
                        wall_s=Spread.of([row.wall_s for row in trials]),
                    )
                )
    return efforts


def headline(
    scores: Mapping[str, float | None],
    tasks: int,
    *,
    level: float = LEVEL,
    seed: int = SEED,
    replicates: int = REPLICATES,
) -> Headline:
    """Return ProgramBench's three figures over a fixed denominator (its 200): score >= 1, score >= 0.95, mean score.

    `scores` has the score of each task, None for a trial without a verdict.

    Raises: ScoringError if there are more scores than tasks, or a score outside of [0, 1].
    """
    if len(scores) > tasks:
        raise ScoringError(f"{len(scores)} tasks have a score, more than the {tasks} of the benchmark")
    for task, value in scores.items():
        if value is not None and not 0 <= value <= 1:
            raise ScoringError(f"{task}: its score is {value}; it must lie in 0 to 1")
    filled = {task: value or 0.0 for task, value in scores.items()}
    filled |= {f"(not tried {number})": 0.0 for number in range(tasks - len(scores))}
    unscored = sum(value is None for value in scores.values()) + tasks - len(scores)
    estimates = (
        rate({task: [value >= 1] for task, value in filled.items()}, missing=unscored, level=level),
        rate({task: [value + 1e-9 >= ALMOST] for task, value in filled.items()}, missing=unscored, level=level),
        mean(
            {task: [value] for task, value in filled.items()},
            missing=unscored,
            level=level,
            seed=seed,
            replicates=replicates,
        ),
    )
    resolved, almost, average = (estimate.model_copy(update={"trials": tasks - unscored}) for estimate in estimates)
    return Headline(resolved=resolved, almost=almost, mean=average)


def best_gaps(scores: Mapping[str, tuple[str, float | None]]) -> dict[str, float | None]:
    """Return, for each configuration, the distance of its score to the best of the same model.

    This is the last column of AgentMeter's Table 2. `scores` has the model and score of each configuration; an unknown
    score has no gap and is never the best.
    """
    best: dict[str, float] = {}
    for model, score in scores.values():
        if score is not None:
            best[model] = max(score, best.get(model, score))
    return {name: None if score is None else best[model] - score for name, (model, score) in scores.items()}
