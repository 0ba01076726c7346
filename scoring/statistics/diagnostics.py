"""What stands beside a score: passes and their price, effort of passed and failed trials, headlines, gaps.

Every figure says over how many; a total over trials of which one is unknown is None, with the known part beside it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from statistics import fmean, median
from typing import Literal

from pydantic import BaseModel, ConfigDict

from scoring.agentmeter.tiers import Tier
from scoring.errors import ScoringError
from scoring.rows import TrialRow
from scoring.selection import outcome
from scoring.statistics.intervals import LEVEL, REPLICATES, SEED, Estimate, mean, rate

ALMOST = 0.95
"""ProgramBench counts a score from here on as almost resolved; the resolved ones are among them.
To 1e-9: the mean of attempts at 0.95 is a little less."""


class Total(BaseModel):
    """A sum over trials; None as soon as one is unknown."""

    model_config = ConfigDict(frozen=True)

    value: float | None
    known: float
    """The sum of those that are known: a lower bound."""
    unknown: int
    """Trials that do not say."""

    @classmethod
    def of(cls, values: Sequence[float | None]) -> Total:
        """Over these trials."""
        known = [value for value in values if value is not None]
        total = float(sum(known))
        return cls(value=total if len(known) == len(values) else None, known=total, unknown=len(values) - len(known))

    def per(self, count: int) -> float | None:
        """Divided by so many; None where there are none, or the total is unknown."""
        return self.value / count if count and self.value is not None else None


class Passed(BaseModel):
    """Passes of one configuration and what they cost: AgentMeter's Tok./Pass and USD/Pass divide what all its trials
    used, the failed ones too, by the number that passed."""

    model_config = ConfigDict(frozen=True)

    passes: int
    pass_rate: Estimate
    quality: Estimate
    cost: Estimate
    """Mean US dollars of a task's trial, over those that are known."""
    tokens: Total
    usd: Total
    tokens_per_pass: float | None
    usd_per_pass: float | None


class Spread(BaseModel):
    """Over the `n` trials that say."""

    model_config = ConfigDict(frozen=True)

    n: int
    mean: float | None
    median: float | None

    @classmethod
    def of(cls, values: Sequence[float | None]) -> Spread:
        """Over these trials."""
        known = [value for value in values if value is not None]
        return cls(n=len(known), mean=fmean(known) if known else None, median=median(known) if known else None)


class Effort(BaseModel):
    """What passed or failed trials of a tier took."""

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
    """Resolved, almost and mean score over a fixed number of tasks; one that was not tried, or not judged, scores 0."""

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
    """Of one configuration's trials that count. Rate and quality are over judged trials, and infrastructure failures
    among `rows` as failed ones; `missing` tasks have no trial."""
    passes: defaultdict[str, list[bool]] = defaultdict(list)
    qualities: defaultdict[str, list[float]] = defaultdict(list)
    costs: defaultdict[str, list[float]] = defaultdict(list)
    for row in rows:
        if row.judged or row.infrastructure:
            success, quality = outcome(row)
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
    """Mean and median effort of passed and of failed trials, over all and by tier; without a verdict is neither."""
    judged = [row for row in rows if row.judged and not row.infrastructure]
    groups: list[tuple[Tier | Literal["all"], list[TrialRow]]] = [("all", judged)]
    groups += [(tier, [row for row in judged if tiers.get(row.task) == tier]) for tier in ("easy", "medium", "hard")]
    found: list[Effort] = []
    for tier, members in groups:
        for wanted in (True, False):
            some = [row for row in members if bool(row.passed) == wanted]
            if some:
                found.append(
                    Effort(
                        tier=tier,
                        passed=wanted,
                        trials=len(some),
                        steps=Spread.of([row.steps for row in some]),
                        commands=Spread.of([row.commands for row in some]),
                        tokens=Spread.of([row.tokens for row in some]),
                        cost_usd=Spread.of([row.cost_usd for row in some]),
                        wall_s=Spread.of([row.wall_s for row in some]),
                    )
                )
    return found


def headline(
    scores: Mapping[str, float | None],
    tasks: int,
    *,
    level: float = LEVEL,
    seed: int = SEED,
    replicates: int = REPLICATES,
) -> Headline:
    """ProgramBench's three figures over a fixed denominator (its 200): score >= 1, score >= 0.95, mean score.

    `scores` are by task, None for a trial without a verdict.

    Raises: ScoringError if there are more scores than tasks, or a score outside of [0, 1].
    """
    if len(scores) > tasks:
        raise ScoringError(f"{len(scores)} tasks have a score, more than the {tasks} that the benchmark has")
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
    resolved, almost, average = (one.model_copy(update={"trials": tasks - unscored}) for one in estimates)
    return Headline(resolved=resolved, almost=almost, mean=average)


def best_gaps(scores: Mapping[str, tuple[str, float | None]]) -> dict[str, float | None]:
    """By configuration, how far its score is below the best of the same model (AgentMeter Table 2, the last column).

    `scores` maps a configuration to its model and score; an unknown score has no gap and sets none.
    """
    best: dict[str, float] = {}
    for model, score in scores.values():
        if score is not None:
            best[model] = max(score, best.get(model, score))
    return {name: None if score is None else best[model] - score for name, (model, score) in scores.items()}
