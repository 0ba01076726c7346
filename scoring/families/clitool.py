"""CLI-Tool-Bench: its tiers, and its table of Build, Exec, EM, FM and SM over repositories.

The verdict of one repository has the metrics `build`, `exec`, `em`, `fm` and `sm`, each a mean over command classes
from 0 to 1, or the classes themselves, such as `em:<class>`. A failed build scores 0 in all of them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from statistics import fmean, stdev

from pydantic import BaseModel, ConfigDict

from scoring.agentmeter.tiers import Tier
from scoring.errors import ScoringError
from scoring.rows import TrialRow

METRICS = ("build", "exec", "em", "fm", "sm")
_Z90 = 1.645
"""Quantile for the 90 % interval of the paper: mean -+ 1.645 SD / sqrt(n) over tasks."""


class Figure(BaseModel):
    """A metric over repositories. `low` and `high` are the 90 % interval of the paper, None below two repositories."""

    model_config = ConfigDict(frozen=True)

    mean: float | None
    sd: float | None
    low: float | None
    high: float | None
    repositories: int
    missing: int
    """Number of repositories without this metric (no judge, no verdict)."""


class SuiteLine(BaseModel):
    """One group of repositories: all of them, or those of one language or tier."""

    model_config = ConfigDict(frozen=True)

    group: str
    figures: dict[str, Figure]


def tier(lines: int) -> Tier:
    """Return easy up to 1,500 lines of the original program, hard from 4,000 lines, medium in between.

    Raises: ScoringError for a negative number.
    """
    if lines < 0:
        raise ScoringError(f"no tier for {lines} lines")
    return "easy" if lines <= 1500 else "medium" if lines < 4000 else "hard"


def class_mean(passes: Mapping[str, tuple[int, int]]) -> float | None:
    """Return the score of a repository: the mean over command classes of passes / valid cases.

    A class without a valid case (the original fails in all) is dropped, as in the published numbers. None if there is
    no other class.
    """
    shares = [passed / valid for passed, valid in passes.values() if valid]
    return fmean(shares) if shares else None


def repository_score(row: TrialRow, metric: str) -> float | None:
    """Return the score of one repository in a metric; None if its verdict does not have it."""
    if not row.judged or row.infrastructure:
        return None
    build = row.metrics.get("build")
    if metric != "build" and build is not None and build < 1:
        return 0.0
    if metric in row.metrics:
        return row.metrics[metric]
    classes = [value for name, value in row.metrics.items() if name.startswith(f"{metric}:")]
    return fmean(classes) if classes else None


def suite_lines(
    rows: Sequence[TrialRow],
    group: Callable[[TrialRow], str] | None = None,
    metrics: Sequence[str] = METRICS,
) -> list[SuiteLine]:
    """Return a line for all repositories of one configuration, then one for each group; one trial for each
    repository."""
    lines = [_line("all", rows, metrics)]
    if group is not None:
        names = sorted({group(row) for row in rows})
        lines += [_line(name, [row for row in rows if group(row) == name], metrics) for name in names]
    return lines


def figure(values: Sequence[float | None]) -> Figure:
    """Return mean, sample standard deviation and 90 % interval over repositories."""
    scores = [value for value in values if value is not None]
    mean = fmean(scores) if scores else None
    sd = stdev(scores) if len(scores) > 1 else None
    half = _Z90 * sd / math.sqrt(len(scores)) if sd is not None else None
    return Figure(
        mean=mean,
        sd=sd,
        low=mean - half if mean is not None and half is not None else None,
        high=mean + half if mean is not None and half is not None else None,
        repositories=len(scores),
        missing=len(values) - len(scores),
    )


def _line(group: str, rows: Sequence[TrialRow], metrics: Sequence[str]) -> SuiteLine:
    figures = {metric: figure([repository_score(row, metric) for row in rows]) for metric in metrics}
    return SuiteLine(group=group, figures=figures)
