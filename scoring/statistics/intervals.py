"""How sure a figure is: Wilson's interval for rates, a bootstrap clustered by task for everything else.

An `Estimate` always says over how many trials and tasks it is, and how many are missing. The bootstrap needs numpy
(the extra `scoring`); without it, or with fewer than two tasks, there is a value without interval: `method` says why.
"""

from __future__ import annotations

import hashlib
import importlib.util
import math
from collections.abc import Iterable, Mapping, Sequence
from statistics import NormalDist, fmean
from typing import TYPE_CHECKING

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
"""Drawn tasks in one piece, so that 10,000 tasks need no more memory than 100."""


class Estimate(BaseModel):
    """A figure with its interval; `low` and `high` None if there is none, which `method` then explains."""

    model_config = ConfigDict(frozen=True)

    value: float | None
    low: float | None = None
    high: float | None = None
    level: float = LEVEL
    method: str = ""
    trials: int
    tasks: int
    missing: int = 0
    """Tasks (of a paired difference: tasks of only one side) that have no figure."""


def wilson(successes: int, trials: int, level: float = LEVEL) -> tuple[float, float]:
    """Wilson's score interval (Wilson 1927): (p + z2/2n -+ z sqrt(p(1-p)/n + z2/4n2)) / (1 + z2/n).

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
    """The share of trials that passed, given them by task. Wilson's interval takes trials as independent."""
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
    """The mean over tasks of each task's mean over its trials: more attempts at one task do not weigh more.

    The interval draws tasks with replacement, all of a task's trials with it (clustered bootstrap, percentiles).
    """
    means = {task: fmean(found) for task, found in sorted(values.items()) if found}
    trials = sum(map(len, values.values()))
    value = fmean(means.values()) if means else None
    low, high, method = interval_of_mean(means, level=level, seed=seed, replicates=replicates)
    return Estimate(
        value=value,
        low=low,
        high=high,
        level=level,
        method=method,
        trials=trials,
        tasks=len(means),
        missing=missing + len(values) - len(means),
    )


def difference(
    one: Mapping[str, Sequence[float]],
    other: Mapping[str, Sequence[float]],
    *,
    level: float = LEVEL,
    seed: int = SEED,
    replicates: int = REPLICATES,
) -> Estimate:
    """The mean of `one` less that of `other` over the tasks that both have, paired by task."""
    both = sorted(task for task in one.keys() & other.keys() if one[task] and other[task])
    pairs = {task: fmean(one[task]) - fmean(other[task]) for task in both}
    low, high, method = interval_of_mean(pairs, level=level, seed=seed, replicates=replicates)
    return Estimate(
        value=fmean(pairs.values()) if pairs else None,
        low=low,
        high=high,
        level=level,
        method=method if not method.startswith("bootstrap") else f"paired {method}",
        trials=sum(len(one[task]) + len(other[task]) for task in both),
        tasks=len(both),
        missing=len(one.keys() | other.keys()) - len(both),
    )


def interval_of_mean(
    by_task: Mapping[str, float], *, level: float, seed: int, replicates: int
) -> tuple[float | None, float | None, str]:
    """(low, high, method) of the mean of one figure a task."""
    tasks = sorted(by_task)
    if why := no_bootstrap(len(tasks)):
        return None, None, why
    import numpy as np

    sums = resampled_sums(tasks, np.array([[by_task[task]] for task in tasks]), seed=seed, replicates=replicates)
    low, high = percentiles(sums[:, 0] / len(tasks), level)
    return low, high, f"bootstrap by task, {replicates} replicates, seed {seed}"


def no_bootstrap(tasks: int) -> str:
    """Why there is no bootstrap over so many tasks; empty if there is one."""
    if tasks < 2:
        return "no interval: fewer than 2 tasks"
    if importlib.util.find_spec("numpy") is None:
        return "no interval: the bootstrap needs numpy (pip install 'retrace-agent[scoring]')"
    return ""


def resampled_sums(tasks: Sequence[str], columns: Array, *, seed: int, replicates: int) -> Array:
    """(replicates, columns): sums of `columns` (a row a task, as `tasks` is ordered) over tasks drawn with replacement.

    The draw depends on the seed and the names of the tasks alone, so that two configurations over the same tasks are
    drawn alike: their differences are paired.
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
    """The central share `level` of the replicates."""
    import numpy as np

    low, high = np.quantile(np.asarray(replicates), [(1 - level) / 2, (1 + level) / 2])
    return float(low), float(high)
