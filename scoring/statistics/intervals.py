"""Intervals: Wilson's for rates, a bootstrap clustered by task for everything else.

An `Estimate` always has the number of trials and tasks that it is over, and the number of missing ones. The bootstrap
needs numpy (the extra `scoring`). Without it, or with fewer than two tasks, there is a value without interval, and
`method` has the reason.
"""

from __future__ import annotations

import hashlib
import importlib.util
import math
from collections.abc import Iterable, Mapping, Sequence
from statistics import NormalDist, fmean
from typing import TYPE_CHECKING, NamedTuple

from pydantic import BaseModel, ConfigDict

from scoring.errors import ScoringError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Array = NDArray[np.float64]

LEVEL = 0.95
REPLICATES = 1000
SEED = 20261120
_PIECE = 1 << 20
"""Number of tasks that are drawn in one piece, so that 10,000 tasks need no more memory than 100."""


class Estimate(BaseModel):
    """A figure with its interval; `low` and `high` are None if there is none, and `method` then has the reason."""

    model_config = ConfigDict(frozen=True)

    value: float | None
    low: float | None = None
    high: float | None = None
    level: float = LEVEL
    method: str = ""
    trials: int
    tasks: int
    missing: int = 0
    """Number of tasks without a figure; for a paired difference, tasks of only one side."""


def wilson(successes: int, trials: int, level: float = LEVEL) -> tuple[float, float]:
    """Return Wilson's score interval (Wilson 1927): (p + z2/2n -+ z sqrt(p(1-p)/n + z2/4n2)) / (1 + z2/n).

    Raises: ScoringError if there are no trials, or more successes than trials.
    """
    if not 0 <= successes <= trials or not trials:
        raise ScoringError(f"no rate of {successes} out of {trials}")
    z = NormalDist().inv_cdf(0.5 + level / 2)
    p, half = successes / trials, z * z / (2 * trials)
    spread = z * math.sqrt(p * (1 - p) / trials + z * z / (4 * trials * trials))
    scale = 1 + z * z / trials
    low = 0.0 if successes == 0 else (p + half - spread) / scale
    high = 1.0 if successes == trials else (p + half + spread) / scale
    return max(0.0, low), min(1.0, high)


def rate(passed: Mapping[str, Sequence[bool]], *, missing: int = 0, level: float = LEVEL) -> Estimate:
    """Return the share of trials that passed, from the passes of each task. Wilson's interval assumes independent
    trials."""
    trials = sum(map(len, passed.values()))
    tasks = sum(1 for values in passed.values() if values)
    if not trials:
        return Estimate(value=None, level=level, method="no trials", trials=0, tasks=0, missing=missing)
    successes = sum(map(sum, passed.values()))
    low, high = wilson(successes, trials, level)
    return Estimate(
        value=successes / trials,
        low=low,
        high=high,
        level=level,
        method="wilson",
        trials=trials,
        tasks=tasks,
        missing=missing,
    )


def mean(
    values: Mapping[str, Sequence[float]],
    *,
    missing: int = 0,
    level: float = LEVEL,
    seed: int = SEED,
    replicates: int = REPLICATES,
) -> Estimate:
    """Return the mean over tasks of each task's mean over its trials; more attempts at a task do not weigh more.

    The interval draws tasks with replacement, each with all of its trials (clustered bootstrap, percentiles).
    """
    means = {task: fmean(trials) for task, trials in sorted(values.items()) if trials}
    trials = sum(map(len, values.values()))
    interval = interval_of_mean(means, level=level, seed=seed, replicates=replicates)
    return Estimate(
        value=fmean(means.values()) if means else None,
        low=interval.low,
        high=interval.high,
        level=level,
        method=interval.method,
        trials=trials,
        tasks=len(means),
        missing=missing + len(values) - len(means),
    )


def difference(
    left: Mapping[str, Sequence[float]],
    right: Mapping[str, Sequence[float]],
    *,
    level: float = LEVEL,
    seed: int = SEED,
    replicates: int = REPLICATES,
) -> Estimate:
    """Return the mean of `left` less that of `right` over the tasks that both have, paired by task."""
    both = sorted(task for task in left.keys() & right.keys() if left[task] and right[task])
    pairs = {task: fmean(left[task]) - fmean(right[task]) for task in both}
    interval = interval_of_mean(pairs, level=level, seed=seed, replicates=replicates)
    return Estimate(
        value=fmean(pairs.values()) if pairs else None,
        low=interval.low,
        high=interval.high,
        level=level,
        method=interval.method if interval.low is None else f"paired {interval.method}",
        trials=sum(len(left[task]) + len(right[task]) for task in both),
        tasks=len(both),
        missing=len(left.keys() | right.keys()) - len(both),
    )


class Interval(NamedTuple):
    """Bounds of an interval, and its method; without bounds, `method` has the reason."""

    low: float | None
    high: float | None
    method: str


def interval_of_mean(by_task: Mapping[str, float], *, level: float, seed: int, replicates: int) -> Interval:
    """Return the interval of the mean of one figure per task."""
    tasks = sorted(by_task)
    if reason := no_bootstrap(len(tasks)):
        return Interval(None, None, reason)
    import numpy as np

    sums = resampled_sums(tasks, np.array([[by_task[task]] for task in tasks]), seed=seed, replicates=replicates)
    low, high = percentiles(sums[:, 0] / len(tasks), level)
    return Interval(low, high, f"bootstrap by task, {replicates} replicates, seed {seed}")


def no_bootstrap(tasks: int) -> str:
    """Return the reason why there is no bootstrap over this number of tasks; empty if there is one."""
    if tasks < 2:
        return "no interval: fewer than 2 tasks"
    if importlib.util.find_spec("numpy") is None:
        return "no interval: the bootstrap needs numpy (pip install 'retrace-agent[scoring]')"
    return ""


def resampled_sums(tasks: Sequence[str], columns: Array, *, seed: int, replicates: int) -> Array:
    """Return sums over tasks drawn with replacement, as an array of shape (replicates, columns).

    `columns` has a row for each task, in the order of `tasks`. The draw depends only on the seed and the names of the
    tasks: two configurations over the same tasks are drawn alike, so their differences are paired.
    """
    import numpy as np

    if replicates < 1:
        raise ScoringError(f"{replicates} bootstrap replicates: at least 1 is needed")
    count = len(tasks)
    digest = hashlib.sha256("\n".join(tasks).encode("utf-8", "surrogatepass")).digest()
    random = np.random.default_rng([seed & 0xFFFFFFFF, int.from_bytes(digest[:8], "big")])
    sums = np.empty((replicates, columns.shape[1]))
    step = max(1, _PIECE // count)
    for start in range(0, replicates, step):
        rows = min(step, replicates - start)
        drawn = random.integers(0, count, size=(rows, count), dtype=np.int32)
        drawn += np.arange(rows, dtype=np.int32)[:, None] * np.int32(count)
        weights = np.bincount(drawn.ravel(), minlength=rows * count).reshape(rows, count)
        sums[start : start + rows] = weights @ columns
    return sums


def percentiles(replicates: Array | Iterable[float], level: float) -> tuple[float, float]:
    """Return the bounds of the central share `level` of the replicates."""
    import numpy as np

    low, high = np.quantile(np.asarray(replicates), [(1 - level) / 2, (1 + level) / 2])
    return float(low), float(high)
