"""Selection of the trials that count: checks of the input, infrastructure failures, one trial for each task.

Nothing is left out silently: `Selection` has the number of trials that do not count, by reason.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from scoring.choices import AttemptRule, DuplicateRule, InfrastructureRule, IntegrityRule
from scoring.errors import ScoringError
from scoring.integrity import apply_rule
from scoring.interventions.chains import results, with_flags_carried_on
from scoring.interventions.stages import with_stages_together
from scoring.rows import TrialRow
from scoring.selecting.naming import configuration_names


@dataclass(frozen=True)
class Selection:
    """The trials that count, and the number of those that do not."""

    rows: tuple[TrialRow, ...]
    """One row for each attempt: of a chain of turns the last one, with the sums of all (`interventions.chains`)."""
    trials: tuple[TrialRow, ...]
    """All trials that count, each turn by itself, those of unfinished chains included."""
    infrastructure: int
    """Trials that the infrastructure ended; the caller chooses if they are among `rows`."""
    unfinished: int
    """Running, crashed or interrupted trials, never among `rows`."""
    superseded: int
    """Trials that are left out for another one with the same identity."""
    unjudged: int
    """Trials among `rows` without a verdict."""
    unknown_cost: int
    """Trials among `rows` without a cost."""
    flagged: int
    """Trials that are flagged for a violation; the caller chooses if they are among `rows`, and with which result."""
    examined: int
    """Trials of which it is known if they are flagged."""
    before: tuple[TrialRow, ...]
    """As `rows`, if flagged trials are treated as all others."""
    every: tuple[TrialRow, ...]
    """As `rows`, with those that do not count."""


def select_trials(
    rows: Iterable[TrialRow],
    *,
    infrastructure: InfrastructureRule,
    duplicates: DuplicateRule = DuplicateRule.REFUSE,
    integrity: IntegrityRule = IntegrityRule.SHOW,
) -> Selection:
    """Return the trials that count, in the order of task, setup, attempt, turn and directory.

    Raises: ScoringError for trials of several benchmarks, an impossible figure (NaN, infinite, negative, a quality
    outside of 0 to 1), two trials that claim the same identity and attempt, no finished trial, or no trial that is not
    flagged if flagged ones are excluded.
    """
    rows = with_stages_together(tuple(rows))
    ordered = sorted(rows, key=lambda row: (row.task, row.setup, row.attempt, row.turn or 0, row.batch, row.directory))
    if not ordered:
        raise ScoringError("no trials to score")
    _check_benchmark(ordered)
    for row in ordered:
        check_row(row)
    alone = with_flags_carried_on(_distinct(ordered, duplicates))
    distinct = results(alone)
    finished = [row for row in distinct if row.completed]
    broken = [row for row in distinct if row.infrastructure]
    count_broken = infrastructure == InfrastructureRule.COUNT
    selected = [row for row in distinct if row.completed or (count_broken and row.infrastructure)]
    trials = [row for row in alone if row.completed or (count_broken and row.infrastructure)]
    if not trials:
        raise ScoringError(
            f"none of {len(ordered)} trials has finished ({len(broken)} ended by the infrastructure; first: "
            f"{ordered[0].directory}): continue them with `agent resume`, or count infrastructure failures"
        )
    counted = apply_rule(selected, integrity) if selected else ()
    return Selection(
        rows=counted,
        trials=apply_rule(trials, integrity),
        infrastructure=len(broken),
        unfinished=len(distinct) - len(finished) - len(broken),
        superseded=len(ordered) - len(alone),
        unjudged=sum(not row.judged and not row.infrastructure for row in counted),
        unknown_cost=sum(row.cost_usd is None for row in counted),
        flagged=sum(bool(row.flagged) for row in selected),
        examined=sum(row.flagged is not None for row in selected),
        before=tuple(selected),
        every=tuple(distinct),
    )


def check_row(row: TrialRow) -> None:
    """Check the figures of a row.

    Raises: ScoringError, naming the trial, the figure and the value, if a figure is impossible.
    """
    for name in ("cost_usd", "billed_usd", "computed_usd", "list_usd", "agentmeter_usd", "wall_s", "working_s"):
        value = getattr(row, name)
        if value is not None and not 0 <= value < math.inf:
            raise ScoringError(f"{row.directory}: {name} is {value}; it must be 0 or more, or unknown")
    if row.quality is not None and not 0 <= row.quality <= 1:
        raise ScoringError(f"{row.directory}: quality is {row.quality}; it must lie in 0 to 1")
    for name, value in row.metrics.items():
        if not math.isfinite(value):
            raise ScoringError(f"{row.directory}: metric {name!r} is {value}; it must be finite, or left out")


def passed_and_quality(row: TrialRow) -> tuple[bool, float]:
    """Return if a trial counts as passed, and its quality from 0 to 1.

    A trial without a verdict, or ended by the infrastructure, failed with quality 0.
    """
    if not row.judged or row.infrastructure:
        return False, 0.0
    return bool(row.passed), row.quality or 0.0


def latest_completed(rows: Iterable[TrialRow]) -> dict[tuple[str, str], TrialRow]:
    """Return, by (setup, task), the completed trial that finished last: AgentMeter's rule for several trials of a task.

    A completed trial ended by itself, with or without a verdict. A trial that the infrastructure ended is taken only if
    there is no other. Times are UTC in ISO 8601 and are compared as text; of equal times the higher turn, attempt and
    directory is taken.
    """
    latest: dict[tuple[str, str], TrialRow] = {}
    for row in rows:
        if row.completed or row.infrastructure:
            key = (row.setup, row.task)
            if key not in latest or _time_order(row) > _time_order(latest[key]):
                latest[key] = row
    return latest


def scored_attempts(rows: Iterable[TrialRow], rule: AttemptRule) -> dict[str, list[TrialRow]]:
    """Return the trials of each setup that count in AMS, tiers and headlines: the latest of each task, or all."""
    rows = tuple(rows)
    latest = latest_completed(rows)
    return {
        setup: [row for row in trials if rule == AttemptRule.ALL or latest[setup, row.task] is row]
        for setup, trials in by_setup(rows).items()
    }


def by_setup(rows: Iterable[TrialRow]) -> dict[str, list[TrialRow]]:
    """Return the trials of each setup, ordered by description."""
    members: defaultdict[str, list[TrialRow]] = defaultdict(list)
    for row in rows:
        members[row.setup].append(row)
    return dict(sorted(members.items(), key=lambda item: (item[1][0].description or item[1][0].label, item[0])))


def labels(rows: Iterable[TrialRow]) -> dict[str, str]:
    """Return a name for each setup, by `configuration_names`; of equal ones the setup that began first is number 1."""
    first: dict[str, TrialRow] = {}
    for row in rows:
        if row.setup not in first or row.started < first[row.setup].started:
            first[row.setup] = row
    ordered = sorted(first.values(), key=lambda row: (row.started, row.setup))
    return configuration_names({row.setup: row.conditions or {"name": row.label} for row in ordered})


def with_labels(rows: Sequence[TrialRow]) -> list[TrialRow]:
    """Return the rows with the names of their setups as labels, for everything that is made of them."""
    names, none = labels(rows), dict[str, str]()
    return [replace(row, label=names[row.setup], conditions=none) for row in rows]


@dataclass(frozen=True)
class MixedConditions:
    """A setup whose trials of one task differ in conditions that are not part of a setup (limits, environment)."""

    label: str
    task: str
    configurations: int


def mixed_conditions(rows: Iterable[TrialRow]) -> list[MixedConditions]:
    """Return each setup and task whose trials were made under different conditions."""
    configurations: defaultdict[tuple[str, str], set[str]] = defaultdict(set)
    names: Mapping[str, str] = labels(rows := tuple(rows))
    for row in rows:
        configurations[row.setup, row.task].add(row.configuration)
    return [
        MixedConditions(names[setup], task, len(different))
        for (setup, task), different in configurations.items()
        if len(different) > 1
    ]


def _time_order(row: TrialRow) -> tuple[bool, str, int, int, str]:
    return (row.completed, row.finished, row.turn or 0, row.attempt, row.directory)


def _check_benchmark(rows: Sequence[TrialRow]) -> None:
    first = rows[0]
    for row in rows:
        if row.benchmark != first.benchmark:
            raise ScoringError(
                f"{row.directory} is a trial of {row.benchmark!r}, {first.directory} one of {first.benchmark!r}: "
                "score one benchmark at a time"
            )


def _distinct(rows: Sequence[TrialRow], duplicates: DuplicateRule) -> list[TrialRow]:
    if duplicates == DuplicateRule.ALL:
        return list(rows)
    kept: dict[tuple[str, int, int | None], TrialRow] = {}
    for row in rows:
        key = (row.identity or row.directory, row.attempt, row.turn)
        other = kept.get(key)
        if other is not None and duplicates == DuplicateRule.REFUSE:
            raise ScoringError(
                f"{other.directory} and {row.directory} both claim attempt {row.attempt} of {row.identity[:12]}: "
                "leave one out, or choose which trials count (--duplicates latest or all)"
            )
        if other is None or _time_order(row) > _time_order(other):
            kept[key] = row
    return list(kept.values())
