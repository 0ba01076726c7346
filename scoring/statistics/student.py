"""Quantiles of Student's t distribution, for intervals over few tasks. They need no package.

The distribution is that of the regularized incomplete beta function, whose continued fraction is evaluated by Lentz's
method (NIST Digital Library of Mathematical Functions, 8.17.22 and 3.10).
"""

from __future__ import annotations

import math
from functools import lru_cache
from statistics import NormalDist

from scoring.errors import ScoringError

_TINY = 1e-300
_PRECISION = 1e-15
_LIKE_NORMAL = 1e7
"""Degrees of freedom from which the distribution is the normal one, to within 1e-7."""


@lru_cache(maxsize=256)
def t_quantile(probability: float, freedom: float) -> float:
    """Return the value below which a variable with so many degrees of freedom lies with this probability.

    Raises: ScoringError for a probability that is not between 0 and 1, or without degrees of freedom.
    """
    if not 0 < probability < 1 or not freedom > 0:
        raise ScoringError(f"no quantile of t for a probability of {probability} and {freedom} degrees of freedom")
    if probability < 0.5:
        return -t_quantile(1 - probability, freedom)
    if freedom >= _LIKE_NORMAL:
        return NormalDist().inv_cdf(probability)
    low, high = 0.0, 1.0
    while t_probability(high, freedom) < probability:
        low, high = high, 2 * high
    while (middle := (low + high) / 2) not in (low, high):
        low, high = (middle, high) if t_probability(middle, freedom) < probability else (low, middle)
    return high


def t_probability(value: float, freedom: float) -> float:
    """Return the probability that a variable with so many degrees of freedom lies below a value."""
    tail = incomplete_beta(freedom / 2, 0.5, freedom / (freedom + value * value)) / 2
    return 1 - tail if value > 0 else tail


def incomplete_beta(a: float, b: float, x: float) -> float:
    """Return the regularized incomplete beta function I_x(a, b)."""
    if x <= 0 or x >= 1:
        return float(x >= 1)
    if x > (a + 1) / (a + b + 2):  # there the fraction of the other end converges faster
        return 1 - incomplete_beta(b, a, 1 - x)
    logarithm = math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b) + a * math.log(x) + b * math.log1p(-x)
    return math.exp(logarithm) * _fraction(a, b, x) / a


def _fraction(a: float, b: float, x: float) -> float:
    """Return the continued fraction of the incomplete beta function."""
    c, d = 1.0, 1 / _nonzero(1 - (a + b) * x / (a + 1))
    value = d
    for m in range(1, 10_000):
        for term in (
            m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m)),
            -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1)),
        ):
            d = 1 / _nonzero(1 + term * d)
            c = _nonzero(1 + term / c)
            value *= c * d
        if abs(c * d - 1) < _PRECISION:
            break
    return value


def _nonzero(value: float) -> float:
    return value if abs(value) > _TINY else _TINY
