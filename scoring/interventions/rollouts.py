"""Values of the steps of a trial: the share of its rolled-out children that pass, and the largest drop between steps.

A child is a trial that was forked from a step and run to its verdict. It counts if the agent or a limit ended it and an
evaluator scored it. Pure: the children are read, and the report is printed, elsewhere.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from statistics import fmean
from typing import Literal

from pydantic import BaseModel, ConfigDict

from scoring.statistics.intervals import LEVEL, Estimate, rate
from scoring.statistics.proportions import fisher_decrease, newcombe

SIGNIFICANCE = 0.05
"""Probability under chance alone below which a drop counts as beyond chance."""
Status = Literal["counted", "infrastructure", "unjudged", "unfinished"]
"""`unjudged`: it ended, and has no score. `unfinished`: it runs, crashed, was interrupted, or its money was used up."""

Stop = Literal["times", "precision", "cost_limit", "interrupted", "infrastructure", "error"]
"""Reason for which a run started no further child. `times`: all of them had been started. `infrastructure`: the
machine, the provider or the evaluator failed in two children in a row. `error`: a child could not begin."""


class Spent(BaseModel):
    """Cost of one child or of several, in US dollars."""

    model_config = ConfigDict(frozen=True)

    usd: float | None
    """The cost; None if that of any call is unknown."""
    at_least_usd: float
    """Sum of the known costs."""

    @classmethod
    def sum(cls, costs: Sequence[Spent]) -> Spent:
        """Add up costs. The sum is unknown if one of them is."""
        known = sum(cost.at_least_usd for cost in costs)
        return cls(usd=None if any(cost.usd is None for cost in costs) else known, at_least_usd=known)


class Child(BaseModel):
    """A trial that was forked from a step of the parent, as it is now."""

    model_config = ConfigDict(frozen=True)

    trial: str
    """Directory of the trial."""
    step: int
    """Step of the parent after which it begins."""
    attempt: int
    status: Status
    exit: str | None
    """Reason and cause of its end."""
    passed: bool | None
    quality: float | None
    steps: int
    cost: Spent
    not_restored: tuple[str, ...]
    """State of the parent that it lacks, one line each."""
    is_new: bool
    """True if this run of the command made it."""


class StepValue(BaseModel):
    """Value of the state after one step."""

    model_config = ConfigDict(frozen=True)

    step: int
    value: Estimate
    """Share of the counted children that pass, with Wilson's interval."""
    passed: int
    quality: float | None
    """Mean quality of the counted children."""
    children: int
    """Number of children; `value.trials` of them count."""
    cost: Spent
    whole: bool
    """True if all state of the parent after the step could be restored."""
    not_restored: tuple[str, ...]
    """State that could not be restored, one line each: of the child that lacks the most."""

    @property
    def half_width(self) -> float | None:
        """Half of the width of the interval; None if no child counts."""
        low, high = self.value.low, self.value.high
        return None if low is None or high is None else (high - low) / 2


class Drop(BaseModel):
    """The largest decrease of the value between two consecutive steps that were rolled out."""

    model_config = ConfigDict(frozen=True)

    after: int
    """Last step before the drop."""
    by: int
    """First step after the drop. What lost the trial happened in the steps `after` + 1 to `by`."""
    change: Estimate
    """Value after `by` minus value after `after`, with Newcombe's interval."""
    p: float
    """Fisher's exact test, one-sided, times the number of comparisons (Bonferroni), at most 1."""
    comparisons: int
    """Number of pairs of consecutive steps among which this drop is the largest."""
    is_beyond_chance: bool
    """True if `p` is below 0.05."""


class Run(BaseModel):
    """One run of the command: the children that it was to start, and why it ended."""

    model_config = ConfigDict(frozen=True)

    planned: int
    """Number of children that were to be started at most."""
    started: int
    stopped: Stop
    cost: Spent
    cost_limit_usd: float | None = None


class RolloutReport(BaseModel):
    """Values of the steps of one trial, from all its children with the same settings, of this run and of earlier ones.

    `agent rollout --json` prints it.
    """

    model_config = ConfigDict(frozen=True)

    trial: str
    """Directory of the parent."""
    task: str
    model: str
    """Model of the children, as the user named it."""
    parent_passed: bool | None
    """True if the parent itself passed. None if it has no verdict."""
    parent_steps: int
    steps: tuple[StepValue, ...]
    drop: Drop | None
    """The largest drop. None if the value decreases nowhere among the steps that are compared."""
    only_whole: bool
    """True if the largest drop leaves out steps whose state could not be restored whole."""
    children: tuple[Child, ...]
    cost: Spent
    """Cost of all children."""
    run: Run | None = None
    """The run that made the report. None if it started no children because none were asked for."""
    precision: float | None = None
    """Half-width of the intervals at which the run was to stop."""
    other_children: int = 0
    """Number of children of this trial with other settings, which are not in the report."""
    unreadable_children: int = 0
    """Number of children whose records cannot be read, which are left out."""
    level: float = LEVEL


def step_values(
    steps: Sequence[int],
    children: Sequence[Child],
    expected_losses: Mapping[int, Sequence[str]],
    level: float = LEVEL,
) -> tuple[StepValue, ...]:
    """Return the value of each step, in the order of the steps.

    `expected_losses` are state that a fork at a step cannot have, whatever its children record.
    """
    return tuple(
        _value(step, [child for child in children if child.step == step], expected_losses.get(step, ()), level)
        for step in sorted(set(steps))
    )


def _value(step: int, children: Sequence[Child], expected_losses: Sequence[str], level: float) -> StepValue:
    counted = [child for child in children if child.status == "counted"]
    passes = [bool(child.passed) for child in counted]
    recorded = max((child.not_restored for child in children), key=len, default=())
    losses = tuple(dict.fromkeys([*expected_losses, *recorded]))
    return StepValue(
        step=step,
        value=rate({"": passes}, level=level),
        passed=sum(passes),
        quality=fmean(child.quality or 0.0 for child in counted) if counted else None,
        children=len(children),
        cost=Spent.sum([child.cost for child in children]),
        whole=not losses,
        not_restored=losses,
    )


def largest_drop(values: Sequence[StepValue], *, only_whole: bool) -> Drop | None:
    """Return the largest decrease between consecutive steps with counted children; None if nothing decreases.

    With `only_whole`, steps whose state could not be restored whole are left out before pairs are made. Of equal drops
    the one with the smallest p counts, then the first.
    """
    compared = [value for value in values if value.value.trials and (value.whole or not only_whole)]
    pairs = list(pairwise(compared))
    drops = [_drop(before, later, len(pairs)) for before, later in pairs if _fell(before, later)]
    return min(drops, key=lambda drop: (round(drop.change.value or 0.0, 9), drop.p, drop.after), default=None)


def _fell(before: StepValue, later: StepValue) -> bool:
    return later.passed * before.value.trials < before.passed * later.value.trials


def _drop(before: StepValue, later: StepValue, comparisons: int) -> Drop:
    counts = (before.passed, before.value.trials, later.passed, later.value.trials)
    low, high = newcombe(*counts, level=before.value.level)
    p = min(1.0, fisher_decrease(*counts) * comparisons)
    change = Estimate(
        value=later.passed / later.value.trials - before.passed / before.value.trials,
        low=low,
        high=high,
        level=before.value.level,
        method="newcombe",
        trials=before.value.trials + later.value.trials,
        tasks=1,
    )
    return Drop(
        after=before.step, by=later.step, change=change, p=p, comparisons=comparisons, is_beyond_chance=p < SIGNIFICANCE
    )
