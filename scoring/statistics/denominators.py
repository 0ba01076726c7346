"""Denominators of shares: the tasks that the caller names, or the published ones of a benchmark.

A task that nobody tried contributes nothing to headlines and AMS. If only the number of tasks is known, it has the name
`(not tried N)`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass

from scoring.errors import ScoringError
from scoring.families.defaults import published_tiers
from scoring.families.programbench_tasks import OWN
from scoring.rows import TrialRow


@dataclass(frozen=True)
class Denominator:
    """The names of all tasks, None for those that trials and tiers name. `note` explains tasks that nobody named."""

    tasks: tuple[str, ...] | None
    note: str = ""


def denominator(
    rows: Iterable[TrialRow],
    tasks: int | Collection[str] | None,
    tiers: Collection[str] = (),
    *,
    source: str = "--tasks",
) -> Denominator:
    """Return the tasks of the benchmark: `tasks` (a number or names), or the published ones.

    `tiers` are the tasks that a list of tiers names.

    Raises: ScoringError, naming the trial, if the trials have more or other tasks than these.
    """
    by_task: dict[str, str] = {}
    benchmark = ""
    for row in rows:
        by_task.setdefault(row.task, row.directory)
        benchmark = benchmark or row.benchmark
    if isinstance(tasks, int):
        tried = by_task.keys() | set(tiers)
        if tasks < len(tried):
            raise ScoringError(
                f"{source} {tasks}: the trials and tiers are of {len(tried)} tasks; use at least that number"
            )
        return Denominator(_filled(tried, tasks))
    if tasks is not None:
        return Denominator(_all_within(by_task, tasks, source))
    if benchmark == OWN:
        return Denominator(None, f"{OWN}: none of these tasks is one of ProgramBench's 200, and no figure is over them")
    published = published_tiers(benchmark)
    if not published:
        return Denominator(None)
    names = _all_within(by_task, published, benchmark)
    untried = len(names) - len(by_task)
    note = (
        f"{benchmark} has {len(names)} tasks: the {untried} that nobody tried count as failed in headlines and AMS "
        "(--tasks tried leaves them out)"
    )
    return Denominator(names, note if untried else "")


def _all_within(by_task: Mapping[str, str], names: Collection[str], source: str) -> tuple[str, ...]:
    for task, directory in sorted(by_task.items()):
        if task not in names:
            raise ScoringError(f"{directory} is a trial of {task}, which is not among the {len(names)} of {source}")
    return tuple(sorted(names))


def _filled(named: Collection[str], size: int) -> tuple[str, ...]:
    return (*sorted(named), *(f"(not tried {number})" for number in range(1, size - len(named) + 1)))
