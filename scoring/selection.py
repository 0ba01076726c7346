"""Which trials count: checks of what was given, infrastructure failures, one trial a task where one is wanted.

Nothing is left out silently: `Counted` says how many were, and why.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from scoring.errors import ScoringError
from scoring.rows import TrialRow

Infrastructure = Literal["exclude", "count"]
"""What a trial that the infrastructure ended is: left out, or a failed trial with quality 0 and its cost."""
Duplicates = Literal["refuse", "latest", "all"]
"""Two trials with one identity, attempt and turn: an error, the one that finished last, or trials of their own."""


@dataclass(frozen=True)
class Counted:
    """The trials that count, and how many of those given do not."""

    rows: tuple[TrialRow, ...]
    infrastructure: int
    """Whether they are among `rows` is the caller's choice."""
    unfinished: int
    """Running, crashed or interrupted: never among `rows`."""
    superseded: int
    """Left out for another trial with the same identity."""
    unjudged: int
    """Among `rows`, without a verdict."""
    unknown_cost: int
    """Among `rows`, without a cost."""


def counted(rows: Iterable[TrialRow], *, infrastructure: Infrastructure, duplicates: Duplicates = "refuse") -> Counted:
    """The trials that count, in the order of task, setup, attempt, turn and directory.

    Raises: ScoringError for trials of several benchmarks, a figure that cannot be (NaN, infinite, negative, a quality
    outside of [0, 1]), two trials that claim one identity and attempt (`duplicates`), or no finished trial.
    """
    given = sorted(rows, key=lambda row: (row.task, row.setup, row.attempt, row.turn or 0, row.batch, row.directory))
    if not given:
        raise ScoringError("no trials to score")
    _one_benchmark(given)
    for row in given:
        check_row(row)
    kept = _distinct(given, duplicates)
    finished = [row for row in kept if row.completed]
    broken = [row for row in kept if row.infrastructure]
    chosen = [row for row in kept if row.completed or (infrastructure == "count" and row.infrastructure)]
    if not chosen:
        raise ScoringError(
            f"none of {len(given)} trials has finished ({len(broken)} ended by the infrastructure; first: "
            f"{given[0].directory}): go on with `agent resume`, or count infrastructure failures"
        )
    return Counted(
        rows=tuple(chosen),
        infrastructure=len(broken),
        unfinished=len(kept) - len(finished) - len(broken),
        superseded=len(given) - len(kept),
        unjudged=sum(not row.judged and not row.infrastructure for row in chosen),
        unknown_cost=sum(row.cost_usd is None for row in chosen),
    )


def check_row(row: TrialRow) -> None:
    """Raises: ScoringError, naming trial, figure and value, where a figure cannot be."""
    for name in ("cost_usd", "billed_usd", "computed_usd", "list_usd", "agentmeter_usd", "wall_s", "working_s"):
        value = getattr(row, name)
        if value is not None and not 0 <= value < math.inf:
            raise ScoringError(f"{row.directory}: {name} is {value}; it must be 0 or more, or unknown")
    if row.quality is not None and not 0 <= row.quality <= 1:
        raise ScoringError(f"{row.directory}: quality is {row.quality}; it must lie in 0 to 1")
    for name, value in row.metrics.items():
        if not math.isfinite(value):
            raise ScoringError(f"{row.directory}: metric {name!r} is {value}; it must be finite, or left out")


def outcome(row: TrialRow) -> tuple[bool, float]:
    """(passed, quality in [0, 1]) as a trial counts: without a verdict, or ended by the infrastructure, nothing."""
    if not row.judged or row.infrastructure:
        return False, 0.0
    return bool(row.passed), row.quality or 0.0


def latest_completed(rows: Iterable[TrialRow]) -> dict[tuple[str, str], TrialRow]:
    """By (setup, task) the completed trial that finished last: AgentMeter's rule where a task has several.

    Completed is a trial that ended by itself, with a verdict or not; one that the infrastructure ended is taken only
    where there is no other. Times are UTC in ISO 8601, so text compares; of equal ones the higher turn, attempt and
    directory is taken.
    """
    chosen: dict[tuple[str, str], TrialRow] = {}
    for row in rows:
        if row.completed or row.infrastructure:
            key = (row.setup, row.task)
            if key not in chosen or _later(row) > _later(chosen[key]):
                chosen[key] = row
    return chosen


def last_turns(rows: Iterable[TrialRow]) -> list[TrialRow]:
    """Of an attempt that was corrected turn by turn its last turn: turns are no attempts of their own."""
    found: dict[object, TrialRow] = {}
    for row in rows:
        key = row.directory if row.turn is None else (row.setup, row.task, row.batch, row.attempt)
        if key not in found or (row.turn or 0) > (found[key].turn or 0):
            found[key] = row
    return list(found.values())


def by_setup(rows: Iterable[TrialRow]) -> dict[str, list[TrialRow]]:
    """Trials by their setup, in the order of the label."""
    found: defaultdict[str, list[TrialRow]] = defaultdict(list)
    for row in rows:
        found[row.setup].append(row)
    return dict(sorted(found.items(), key=lambda item: (item[1][0].label, item[0])))


def labels(rows: Iterable[TrialRow]) -> dict[str, str]:
    """What each setup is called; the first digits of its hash are added where two would share a name."""
    names = {row.setup: row.label for row in rows}
    taken = list(names.values())
    return {setup: name if taken.count(name) == 1 else f"{name} #{setup[:6]}" for setup, name in names.items()}


def mixed_conditions(rows: Iterable[TrialRow]) -> list[str]:
    """A line for each setup whose trials of one task differ in what a setup does not hold (limits, environment)."""
    seen: defaultdict[tuple[str, str], set[str]] = defaultdict(set)
    names: Mapping[str, str] = labels(rows := tuple(rows))
    for row in rows:
        seen[row.setup, row.task].add(row.configuration)
    return [
        f"{names[setup]}: its trials of {task} were made under {len(found)} different limits, images or environments"
        for (setup, task), found in seen.items()
        if len(found) > 1
    ]


def _later(row: TrialRow) -> tuple[bool, str, int, int, str]:
    return (row.completed, row.finished, row.turn or 0, row.attempt, row.directory)


def _one_benchmark(rows: Sequence[TrialRow]) -> None:
    first = rows[0]
    for row in rows:
        if row.benchmark != first.benchmark:
            raise ScoringError(
                f"{row.directory} is a trial of {row.benchmark!r}, {first.directory} one of {first.benchmark!r}: "
                "score one benchmark at a time"
            )


def _distinct(rows: Sequence[TrialRow], duplicates: Duplicates) -> list[TrialRow]:
    if duplicates == "all":
        return list(rows)
    kept: dict[tuple[str, int, int | None], TrialRow] = {}
    for row in rows:
        key = (row.identity or row.directory, row.attempt, row.turn)
        other = kept.get(key)
        if other is not None and duplicates == "refuse":
            raise ScoringError(
                f"{other.directory} and {row.directory} both claim attempt {row.attempt} of {row.identity[:12]}: "
                "leave one out, or say which count (--duplicates latest or all)"
            )
        if other is None or _later(row) > _later(other):
            kept[key] = row
    return list(kept.values())
