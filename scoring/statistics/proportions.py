"""Two shares compared: Newcombe's interval of their difference, and Fisher's exact test of a decrease.

Both are for independent trials, and both are right for a handful of them.
"""

from __future__ import annotations

import math

from scoring.errors import ScoringError
from scoring.statistics.intervals import LEVEL, wilson


def newcombe(
    successes: int, trials: int, later_successes: int, later_trials: int, level: float = LEVEL
) -> tuple[float, float]:
    """Return the interval of `later` minus the first share: Newcombe 1998, method 10, made of two Wilson intervals.

    Raises: ScoringError if one of the shares has no trials, or more successes than trials.
    """
    low, high = wilson(successes, trials, level)
    later_low, later_high = wilson(later_successes, later_trials, level)
    share, later_share = successes / trials, later_successes / later_trials
    difference = later_share - share
    below = math.hypot(later_share - later_low, high - share)
    above = math.hypot(later_high - later_share, share - low)
    return max(-1.0, difference - below), min(1.0, difference + above)


def fisher_decrease(successes: int, trials: int, later_successes: int, later_trials: int) -> float:
    """Return the one-sided p of Fisher's exact test: how probable a decrease at least as large is by chance alone.

    Raises: ScoringError if a number of successes is impossible.
    """
    if not 0 <= successes <= trials or not 0 <= later_successes <= later_trials:
        raise ScoringError(f"no shares of {successes} out of {trials} and {later_successes} out of {later_trials}")
    every = successes + later_successes
    ways = math.comb(trials + later_trials, every)
    as_large = range(successes, min(trials, every) + 1)
    return sum(math.comb(trials, first) * math.comb(later_trials, every - first) for first in as_large) / ways
