"""Over how many tasks shares are: what the caller says, or the published size of a benchmark.

A task that nobody tried is named `(not tried N)` and contributes nothing to headlines and AMS.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass

from scoring.errors import ScoringError
from scoring.rows import TrialRow

PUBLISHED: Mapping[str, int] = {"programbench": 200}
"""Tasks of a benchmark whose headlines are over all of them."""


@dataclass(frozen=True)
class Denominator:
    """All tasks by name, None for those that trials and tiers name; `note` says where a number comes from."""

    tasks: tuple[str, ...] | None
    note: str = ""


def denominator(
    rows: Iterable[TrialRow],
    said: int | Collection[str] | None,
    tiers: Collection[str] = (),
    *,
    source: str = "--tasks",
) -> Denominator:
    """The tasks of the benchmark: `said`, else its published size; `tiers` are tasks that a list of tiers names.

    Raises: ScoringError, naming the trial, where the trials have more or other tasks than were said.
    """
    by_task: dict[str, str] = {}
    benchmark = ""
    for row in rows:
        by_task.setdefault(row.task, row.directory)
        benchmark = benchmark or row.benchmark
    named = by_task.keys() | set(tiers)
    if isinstance(said, int):
        if said < len(named):
            raise ScoringError(f"{source} {said}: the trials and tiers are of {len(named)} tasks; say at least as many")
        return Denominator(_filled(named, said))
    if said is not None:
        for task, directory in sorted(by_task.items()):
            if task not in said:
                raise ScoringError(f"{directory} is a trial of {task}, which is not among the {len(said)} of {source}")
        return Denominator(tuple(sorted(said)))
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
