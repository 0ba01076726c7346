"""Several attempts at a task: the chances that at least one of k passes, and that all k pass."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import comb
from statistics import fmean

from pydantic import BaseModel, ConfigDict

from scoring.errors import ScoringError


class Passes(BaseModel):
    """Means over the tasks with at least k trials; None if there is no such task."""

    model_config = ConfigDict(frozen=True)

    k: int
    pass_at_k: float | None
    pass_hat_k: float | None
    tasks: int
    missing: int
    """Number of tasks with fewer than k trials."""


def pass_at_k(trials: int, passed: int, k: int) -> float:
    """Return 1 - C(n - c, k) / C(n, k), the unbiased chance that at least one of k trials passes.

    Chen et al. 2021, arXiv 2107.03374, eq. 1.

    Raises: ScoringError unless 0 <= c <= n and 1 <= k <= n.
    """
    _check(trials, passed, k)
    return 1 - comb(trials - passed, k) / comb(trials, k)


def pass_hat_k(trials: int, passed: int, k: int) -> float:
    """Return C(c, k) / C(n, k), the unbiased chance that all k trials pass (pass^k).

    Yao et al. 2024, arXiv 2406.12045.

    Raises: ScoringError unless 0 <= c <= n and 1 <= k <= n.
    """
    _check(trials, passed, k)
    return comb(passed, k) / comb(trials, k)


def passes(by_task: Mapping[str, Sequence[bool]], k: int) -> Passes:
    """Return pass@k and pass^k over tasks, from the passes of the trials of each task."""
    enough = [trials for trials in by_task.values() if len(trials) >= k]
    return Passes(
        k=k,
        pass_at_k=fmean(pass_at_k(len(trials), sum(trials), k) for trials in enough) if enough else None,
        pass_hat_k=fmean(pass_hat_k(len(trials), sum(trials), k) for trials in enough) if enough else None,
        tasks=len(enough),
        missing=len(by_task) - len(enough),
    )


def _check(trials: int, passed: int, k: int) -> None:
    if not (0 <= passed <= trials and 1 <= k <= trials):
        raise ScoringError(f"no pass@{k} of {passed} passes in {trials} trials")
