"""The tables of CLI-Tool-Bench: Build, Exec, EM, FM, SM over repositories.

What a verdict says of one repository is in its metrics `build`, `exec`, `em`, `fm`, `sm`, each a mean over its command
classes in [0, 1]; classes themselves in `em:<class>` and the like. A failed build scores 0 everywhere.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from statistics import fmean, stdev

from pydantic import BaseModel, ConfigDict

from scoring.rows import TrialRow

METRICS = ("build", "exec", "em", "fm", "sm")
_Z90 = 1.645
"""The paper's 90 % interval: mean -+ 1.645 SD / sqrt(n) over tasks."""


class Figure(BaseModel):
    """A metric over repositories; `low` and `high` are the paper's 90 % interval, None below two repositories."""

    model_config = ConfigDict(frozen=True)

    mean: float | None
    sd: float | None
    low: float | None
    high: float | None
    repositories: int
    missing: int
    """Repositories whose verdict does not say it (no judge, no verdict)."""


class Line(BaseModel):
    """One group of repositories: all, a language, a tier."""

    model_config = ConfigDict(frozen=True)

    group: str
    figures: dict[str, Figure]


def class_mean(passes: Mapping[str, tuple[int, int]]) -> float | None:
    """A repository's score: the mean over command classes of passes / valid cases.

    A class without a valid case (the original fails in all) is dropped, as the published numbers do; None if all are.
    """
    shares = [passed / valid for passed, valid in passes.values() if valid]
    return fmean(shares) if shares else None


def repository(row: TrialRow, metric: str) -> float | None:
    """One repository's score in a metric; None where its verdict does not say."""
    if not row.judged or row.infrastructure:
        return None
    build = row.metrics.get("build")
    if metric != "build" and build is not None and build < 1:
        return 0.0
    if metric in row.metrics:
        return row.metrics[metric]
    classes = [value for name, value in row.metrics.items() if name.startswith(f"{metric}:")]
    return fmean(classes) if classes else None


def table(
    rows: Sequence[TrialRow],
    group: Callable[[TrialRow], str] | None = None,
    metrics: Sequence[str] = METRICS,
) -> list[Line]:
    """A line for all repositories of one configuration, then one for each group; one trial a repository."""
    lines = [_line("all", rows, metrics)]
    if group is not None:
        names = sorted({group(row) for row in rows})
        lines += [_line(name, [row for row in rows if group(row) == name], metrics) for name in names]
    return lines


def figure(values: Sequence[float | None]) -> Figure:
    """Mean, sample standard deviation and 90 % interval over repositories."""
    known = [value for value in values if value is not None]
    mean = fmean(known) if known else None
    sd = stdev(known) if len(known) > 1 else None
    half = _Z90 * sd / math.sqrt(len(known)) if sd is not None else None
    return Figure(
        mean=mean,
        sd=sd,
        low=mean - half if mean is not None and half is not None else None,
        high=mean + half if mean is not None and half is not None else None,
        repositories=len(known),
        missing=len(values) - len(known),
    )


def _line(name: str, rows: Sequence[TrialRow], metrics: Sequence[str]) -> Line:
    return Line(group=name, figures={metric: figure([repository(row, metric) for row in rows]) for metric in metrics})
