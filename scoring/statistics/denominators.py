"""Denominators of shares: the tasks that the caller names, or the published size of a benchmark.

A task that nobody tried has the name `(not tried N)` and contributes nothing to headlines and AMS.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass

from scoring.errors import ScoringError
from scoring.rows import TrialRow

PUBLISHED: Mapping[str, int] = {"programbench": 200}
"""Number of tasks of each benchmark whose headlines are over all tasks."""


@dataclass(frozen=True)
class Denominator:
    """The names of all tasks, None for those that trials and tiers name. `note` explains a number that nobody gave."""

    tasks: tuple[str, ...] | None
    note: str = ""


def denominator(
    rows: Iterable[TrialRow],
    tasks: int | Collection[str] | None,
    tiers: Collection[str] = (),
    *,
    source: str = "--tasks",
) -> Denominator:
    """Return the tasks of the benchmark: `tasks` (a number or names), or its published size.

    `tiers` are the tasks that a list of tiers names.

    Raises: ScoringError, naming the trial, if the trials have more or other tasks than `tasks`.
    """
    by_task: dict[str, str] = {}
    benchmark = ""
    for row in rows:
        by_task.setdefault(row.task, row.directory)
        benchmark = benchmark or row.benchmark
    named = by_task.keys() | set(tiers)
    if isinstance(tasks, int):
        if tasks < len(named):
            raise ScoringError(
                f"{source} {tasks}: the trials and tiers are of {len(named)} tasks; use at least that number"
            )
        return Denominator(_filled(named, tasks))
    if tasks is not None:
        for task, directory in sorted(by_task.items()):
            if task not in tasks:
                raise ScoringError(f"{directory} is a trial of {task}, which is not among the {len(tasks)} of {source}")
        return Denominator(tuple(sorted(tasks)))
    size = PUBLISHED.get(benchmark)
    if size is None:
        return Denominator(None)
    if len(named) > size:
        return Denominator(None, f"these are {len(named)} tasks of {benchmark}, more than the {size} that it published")
    if len(named) == size:
        return Denominator(None)
    return Denominator(
        _filled(named, size),
        f"{benchmark} has {size} tasks: the {size - len(named)} that nobody tried count as failed in headlines and AMS "
        "(--tasks tried leaves them out)",
    )


def _filled(named: Collection[str], size: int) -> tuple[str, ...]:
    return (*sorted(named), *(f"(not tried {number})" for number in range(1, size - len(named) + 1)))
