"""Intervals clustered by task, for several attempts at each task, and differences paired by task.

Attempts at one task are alike, so 100 attempts at 5 tasks tell less than one attempt at 100 tasks. A figure is the mean
over tasks of each task's mean over its attempts. With this equal weight the cluster-robust variance of the figure
(Liang and Zeger 1986, Biometrika 73) is the sample variance of the task means, divided by the number of tasks; Miller
2024, "Adding error bars to evals" (arXiv 2411.00640) derives the same for evaluations of models. The intervals hold
over few tasks, where the bootstrap's percentiles are too narrow (`docs/reference/scoring.md` has the measured
coverage), and need no package.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from statistics import NormalDist, fmean, variance
from typing import NamedTuple

from scoring.statistics.intervals import LEVEL, Estimate
from scoring.statistics.student import t_quantile

POWER = 0.8
"""Probability with which the smallest detectable difference is found to differ from zero."""
_TOO_FEW = "no interval: fewer than 2 tasks"
_ALL_ALIKE = "no interval: the same in every task"


class Paired(NamedTuple):
    """A difference paired by task, and the smallest one that as many tasks and attempts could detect."""

    difference: Estimate
    detectable: float | None
    """None without an interval."""


def rate_by_task(passed: Mapping[str, Sequence[float]], *, missing: int = 0, level: float = LEVEL) -> Estimate:
    """Return the pass rate: the mean over tasks of each task's share of passes. A pass is 1, a failure 0.

    The interval is Wilson's, with the effective number of trials in place of their number and the quantile of t with
    one degree of freedom less than tasks (Korn and Graubard 1998, Survey Methodology 24; Franco and others 2019,
    Journal of Survey Statistics and Methodology 7). The effective number is p(1-p) divided by the clustered variance
    (here without the factor G/(G-1)), at most the number of trials; if all trials passed or all failed, it is the
    number of tasks. With one trial a task the trials are independent, and the interval is Wilson's own.
    """
    means, trials, lacking = _means(passed)
    missing += lacking
    if not means:
        return Estimate(value=None, level=level, method="no trials", trials=0, tasks=0, missing=missing)
    value, tasks = fmean(means.values()), len(means)
    low: float | None
    if trials == tasks:
        low, high = _score(value, tasks, NormalDist().inv_cdf(0.5 + level / 2))
        method = "wilson"
    elif tasks < 2:
        low, high, method = None, None, _TOO_FEW
    else:
        effective = _effective(means, trials)
        low, high = _score(value, effective, t_quantile(0.5 + level / 2, tasks - 1))
        method = f"wilson by task, {effective:.4g} effective trials"
    return Estimate(
        value=value, low=low, high=high, level=level, method=method, trials=trials, tasks=tasks, missing=missing
    )


def mean_by_task(
    values: Mapping[str, Sequence[float]],
    *,
    missing: int = 0,
    level: float = LEVEL,
    least: float = -math.inf,
    most: float = math.inf,
) -> Estimate:
    """Return the mean over tasks of each task's mean, with Student's interval of the task means.

    No bound lies outside of `least` to `most`, the values that a trial can have.
    """
    means, trials, lacking = _means(values)
    bounds = _student(list(means.values()), level)
    return Estimate(
        value=fmean(means.values()) if means else None,
        low=None if bounds.low is None else max(least, bounds.low),
        high=None if bounds.high is None else min(most, bounds.high),
        level=level,
        method=bounds.method,
        trials=trials,
        tasks=len(means),
        missing=missing + lacking,
    )


def paired_mean(
    left: Mapping[str, Sequence[float]], right: Mapping[str, Sequence[float]], *, level: float = LEVEL
) -> Paired:
    """Return the mean of `left` less that of `right` over the tasks of both, with Student's interval.

    The smallest detectable difference is (t(1-a/2) + t(power)) standard errors (Bloom 1995, Evaluation Review 19).
    """
    pairs = _pairs(left, right)
    bounds = _student(list(pairs.differences.values()), level)
    method = bounds.method if bounds.low is None else f"paired {bounds.method}"
    detectable = None
    if bounds.error is not None:
        freedom = len(pairs.differences) - 1
        detectable = (t_quantile(0.5 + level / 2, freedom) + t_quantile(POWER, freedom)) * bounds.error
    return Paired(pairs.estimate(bounds.low, bounds.high, level, method), detectable)


def paired_rate(
    left: Mapping[str, Sequence[float]], right: Mapping[str, Sequence[float]], *, level: float = LEVEL
) -> Paired:
    """Return the pass rate of `left` less that of `right` over the tasks of both. A pass is 1, a failure 0.

    The interval is that of Agresti and Min 2005 (Statistics in Medicine 24) for matched proportions, with the
    difference of a task's shares as one pair: half a pair is added to each of the four kinds, of which two differ by 1
    and -1, so that it has a width if no task differs. With several attempts at each task it is somewhat too wide. The
    smallest detectable difference is (z(1-a/2) + z(power)) of its standard errors.
    """
    pairs = _pairs(left, right)
    tasks = len(pairs.differences)
    if tasks < 2:
        return Paired(pairs.estimate(None, None, level, _TOO_FEW), None)
    total, squares = sum(pairs.differences.values()), sum(each * each for each in pairs.differences.values()) + 1
    number = tasks + 2
    center, error = total / number, math.sqrt(squares - total * total / number) / number
    z = NormalDist().inv_cdf(0.5 + level / 2)
    bounds = max(-1.0, center - z * error), min(1.0, center + z * error)
    detectable = min(1.0, (z + NormalDist().inv_cdf(POWER)) * error)
    return Paired(pairs.estimate(*bounds, level, "paired agresti-min by task"), detectable)


class _Bounds(NamedTuple):
    low: float | None
    high: float | None
    method: str
    error: float | None = None
    """Standard error of the mean."""


def _student(values: Sequence[float], level: float) -> _Bounds:
    if len(values) < 2:
        return _Bounds(None, None, _TOO_FEW)
    error = math.sqrt(variance(values) / len(values))
    if not error:
        return _Bounds(None, None, _ALL_ALIKE)
    mean, half = fmean(values), t_quantile(0.5 + level / 2, len(values) - 1) * error
    return _Bounds(mean - half, mean + half, f"t by task, {len(values) - 1} degrees of freedom", error)


def _means(values: Mapping[str, Sequence[float]]) -> tuple[dict[str, float], int, int]:
    """Return the mean of each task with values, the number of trials, and the number of tasks without values."""
    means = {task: fmean(trials) for task, trials in sorted(values.items()) if trials}
    return means, sum(map(len, values.values())), len(values) - len(means)


def _effective(means: Mapping[str, float], trials: int) -> float:
    """Return the number of independent trials that tell as much about a rate as these do."""
    rate = fmean(means.values())
    if not 0 < rate < 1:
        return len(means)
    spread = fmean((mean - rate) ** 2 for mean in means.values()) / len(means)
    return min(float(trials), rate * (1 - rate) / spread) if spread else float(trials)


def _score(rate: float, number: float, quantile: float) -> tuple[float, float]:
    """Return Wilson's score interval of a rate over a number of trials that need not be whole."""
    half = quantile * quantile / (2 * number)
    spread = quantile * math.sqrt(rate * (1 - rate) / number + half / (2 * number))
    scale = 1 + 2 * half
    low = 0.0 if rate == 0 else max(0.0, (rate + half - spread) / scale)
    high = 1.0 if rate == 1 else min(1.0, (rate + half + spread) / scale)
    return low, high


class _Pairs(NamedTuple):
    differences: dict[str, float]
    """Difference of the means of each task of both sides."""
    trials: int
    missing: int

    def estimate(self, low: float | None, high: float | None, level: float, method: str) -> Estimate:
        """Return the mean difference with these bounds."""
        return Estimate(
            value=fmean(self.differences.values()) if self.differences else None,
            low=low,
            high=high,
            level=level,
            method=method,
            trials=self.trials,
            tasks=len(self.differences),
            missing=self.missing,
        )


def _pairs(left: Mapping[str, Sequence[float]], right: Mapping[str, Sequence[float]]) -> _Pairs:
    both = sorted(task for task in left.keys() & right.keys() if left[task] and right[task])
    return _Pairs(
        {task: fmean(left[task]) - fmean(right[task]) for task in both},
        sum(len(left[task]) + len(right[task]) for task in both),
        len({task for side in (left, right) for task, trials in side.items() if trials}) - len(both),
    )
