"""Agreement of judges: Fleiss' kappa and the disagreement rate, computed from counts of votes."""

from __future__ import annotations

from collections.abc import Sequence

from pydantic import BaseModel


class Kappa(BaseModel):
    """A kappa over `subjects` that `raters` rated; `why_none` is the reason if it is not defined."""

    value: float | None
    subjects: int
    raters: int
    why_none: str = ""


def fleiss_kappa(counts: Sequence[Sequence[int]]) -> Kappa:
    """Compute Fleiss' kappa of a table with a row for each subject and a column for each category, in counts of raters.

    With N subjects, n ratings of each and p_j the share of all ratings that category j has:
    P_i = (sum_j n_ij^2 - n) / (n (n - 1)), P = mean of P_i, P_e = sum_j p_j^2, kappa = (P - P_e) / (1 - P_e).
    1 is perfect agreement, 0 the agreement by chance. It is not defined without subjects, with fewer than two ratings
    of each, if subjects have different numbers of ratings, or if all ratings are in one category (P_e is 1).

    Source: J. L. Fleiss, Measuring nominal scale agreement among many raters, Psychological Bulletin 76 (1971),
    378-382.
    """
    subjects = len(counts)
    if subjects == 0:
        return Kappa(value=None, subjects=0, raters=0, why_none="nothing was rated by a whole panel")
    sizes = {sum(row) for row in counts}
    raters = max(sizes)
    if len(sizes) > 1:
        listed = ", ".join(map(str, sorted(sizes)))
        return Kappa(value=None, subjects=subjects, raters=raters, why_none=f"panels of different sizes ({listed})")
    if raters < 2:
        return Kappa(value=None, subjects=subjects, raters=raters, why_none="fewer than two judges")
    totals = [sum(column) for column in zip(*counts, strict=True)]
    if sum(1 for total in totals if total) == 1:
        reason = "all votes are the same, so chance alone explains them"
        return Kappa(value=None, subjects=subjects, raters=raters, why_none=reason)
    expected = sum((total / (subjects * raters)) ** 2 for total in totals)
    observed = sum(sum(cell * cell for cell in row) - raters for row in counts) / (subjects * raters * (raters - 1))
    return Kappa(value=round((observed - expected) / (1 - expected), 6), subjects=subjects, raters=raters)


def disagreement_rate(counts: Sequence[Sequence[int]]) -> float | None:
    """Return the share of subjects with differing ratings among those with at least two; None if there are none.

    The share is in [0, 1]. The definition is ours. A subject is one question about one trial; a vote without an answer
    does not count.
    """
    rated = [row for row in counts if sum(row) >= 2]
    if not rated:
        return None
    return round(sum(1 for row in rated if sum(1 for cell in row if cell) > 1) / len(rated), 6)
