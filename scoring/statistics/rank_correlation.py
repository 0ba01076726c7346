"""Rank correlations and mean errors of two scorings of the same configurations.

They are written out and tested against scipy: importing `scipy.stats` took 0.5 s, a fifth of scoring 10,000 trials.
"""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections.abc import Mapping, Sequence
from itertools import combinations
from statistics import correlation, fmean

from pydantic import BaseModel, ConfigDict

from scoring.errors import ScoringError


class Agreement(BaseModel):
    """Agreement over the configurations that both scorings have; None if a correlation is not defined (all scores
    equal, or fewer than two configurations)."""

    model_config = ConfigDict(frozen=True)

    spearman: float | None
    kendall_tau_b: float | None
    score_mae: float | None
    """Mean absolute difference of the scores; AgentMeter calls it AMS MAE."""
    rank_mae: float | None
    """Mean absolute difference of the ranks (1 is the highest score; equal scores share the mean of their ranks)."""
    configurations: int
    missing: int
    """Number of configurations in only one of the two."""


def agreement(first: Mapping[str, float], second: Mapping[str, float]) -> Agreement:
    """Return Spearman's rho, Kendall's tau-b and mean absolute errors of two scorings by name.

    Raises: ScoringError if a score is not finite.
    """
    for scores in (first, second):
        for name, value in scores.items():
            if not math.isfinite(value):
                raise ScoringError(f"{name}: its score is {value}; leave it out of the ranking")
    both = sorted(first.keys() & second.keys())
    left, right = [first[name] for name in both], [second[name] for name in both]
    defined = len(set(left)) > 1 and len(set(right)) > 1
    ranks = (_ranks(left), _ranks(right))
    return Agreement(
        spearman=correlation(*ranks) if defined else None,
        kendall_tau_b=_tau_b(left, right) if defined else None,
        score_mae=fmean(abs(a - b) for a, b in zip(left, right, strict=True)) if both else None,
        rank_mae=fmean(abs(a - b) for a, b in zip(*ranks, strict=True)) if both else None,
        configurations=len(both),
        missing=len(first.keys() ^ second.keys()),
    )


def _ranks(scores: Sequence[float]) -> list[float]:
    """Return the rank of each score: 1 for the highest; equal scores share the mean of their ranks."""
    ordered = sorted(scores)
    return [len(scores) + 0.5 - (bisect_left(ordered, score) + bisect_right(ordered, score)) / 2 for score in scores]


def _tau_b(left: Sequence[float], right: Sequence[float]) -> float:
    """Return (concordant - discordant pairs) / sqrt(pairs not tied left * pairs not tied right) (Kendall 1945)."""
    pairs = [(_sign(a - c), _sign(b - d)) for (a, b), (c, d) in combinations(zip(left, right, strict=True), 2)]
    untied = [sum(abs(pair[side]) for pair in pairs) for side in (0, 1)]
    return sum(a * b for a, b in pairs) / math.sqrt(untied[0] * untied[1])


def _sign(value: float) -> int:
    return (value > 0) - (value < 0)
