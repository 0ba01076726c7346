"""How alike two orders of the same configurations are. Needs scipy (the extra `scoring`)."""

from __future__ import annotations

import math
from collections.abc import Mapping
from statistics import fmean

from pydantic import BaseModel, ConfigDict

from scoring.errors import ScoringError


class Agreement(BaseModel):
    """Over the configurations that both have; None where a correlation is not defined (all equal, fewer than two)."""

    model_config = ConfigDict(frozen=True)

    spearman: float | None
    kendall_tau_b: float | None
    score_mae: float | None
    """Mean absolute difference of the scores: what AgentMeter calls AMS MAE."""
    rank_mae: float | None
    """The same of the ranks (1 is the highest score, equal scores share the mean of their ranks)."""
    configurations: int
    missing: int
    """In only one of the two."""


def agreement(one: Mapping[str, float], other: Mapping[str, float]) -> Agreement:
    """Spearman's rho, Kendall's tau-b and mean absolute errors between two scorings by name.

    Raises: ScoringError if scipy is not installed, or a score is not finite.
    """
    for scores in (one, other):
        for name, value in scores.items():
            if not math.isfinite(value):
                raise ScoringError(f"{name}: its score is {value}; leave it out of the ranking")
    try:
        from scipy import stats
    except ImportError:
        raise ScoringError("rankings need scipy: pip install 'retrace-agent[scoring]'") from None
    both = sorted(one.keys() & other.keys())
    left, right = [one[name] for name in both], [other[name] for name in both]
    defined = len(set(left)) > 1 and len(set(right)) > 1
    ranks = [stats.rankdata([-value for value in side]) for side in (left, right)] if both else []
    return Agreement(
        spearman=float(stats.spearmanr(left, right).statistic) if defined else None,
        kendall_tau_b=float(stats.kendalltau(left, right, variant="b").statistic) if defined else None,
        score_mae=fmean(abs(a - b) for a, b in zip(left, right, strict=True)) if both else None,
        rank_mae=fmean(abs(float(a) - float(b)) for a, b in zip(*ranks, strict=True)) if both else None,
        configurations=len(both),
        missing=len(one.keys() ^ other.keys()),
    )
