"""Trials that a rerun has replaced: they are never rows of their own, and their costs are in the cost of the rerun.

Infrastructure ended such a trial, or one of its turns, and a batch began it again in the folder `NAME.rN`. The last one
counts.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from operator import attrgetter
from typing import Any

from scoring.rows import TrialRow
from scoring.statistics.sums import known_sum
from trajectories.batches.reader import first_name_of, rerun_number
from trajectories.record.usage import Usage

_COSTS = ("cost_usd", "billed_usd", "computed_usd", "list_usd", "agentmeter_usd")
_COUNTS = ("failed_calls", "unmetered_calls")


def without_superseded(rows: Sequence[TrialRow]) -> list[TrialRow]:
    """Return the rows without those that a rerun replaced; costs and tokens of a rerun include theirs.

    Those of a chain are added to its first turn. Time, steps and result are the rerun's own. If a replaced trial is not
    among the rows, the costs are unknown.
    """
    if all(row.replaces is None for row in rows):
        return list(rows)
    units: defaultdict[tuple[str, str], list[TrialRow]] = defaultdict(list)
    for row in rows:
        folder, _, name = row.directory.rpartition("/")
        units[folder, first_name_of(name)].append(row)
    kept = {row.directory: row for unit in units.values() for row in _last(unit)}
    return [kept[row.directory] for row in rows if row.directory in kept]


def _last(rows: Sequence[TrialRow]) -> list[TrialRow]:
    """Return the rows of a unit that count: those of the last rerun, of which the first has the costs of all before."""
    number = max((_rerun(row) for row in rows if row.replaces is not None), default=0)
    if not number:
        return list(rows)
    last = sorted((row for row in rows if _rerun(row) == number), key=lambda row: row.turn or 0)
    before = [row for row in rows if _rerun(row) < number]
    names = {_name(row) for row in rows}
    is_whole = all(row.replaces in names for row in rows if row.replaces is not None)
    return [_with_costs(last[0], before, is_whole=is_whole), *(replace(row, replaces=None) for row in last[1:])]


def _with_costs(row: TrialRow, before: Sequence[TrialRow], *, is_whole: bool) -> TrialRow:
    rows = [*before, row]
    costs: dict[str, Any] = {name: known_sum(map(attrgetter(name), rows)) if is_whole else None for name in _COSTS}
    counts: dict[str, Any] = {name: sum(map(attrgetter(name), rows)) for name in _COUNTS}
    counts["unmetered_calls"] += not is_whole  # makes the tokens unknown
    experts = [each.interventions.expert_usd for each in rows if each.interventions.expert_costs is not None]
    return replace(
        row,
        **costs,
        **counts,
        usage=Usage.sum(each.usage for each in rows),
        interventions=replace(row.interventions, expert_usd=known_sum(experts) if experts and is_whole else None),
        replaces=None,
        superseded=len(before),
        superseded_usd=known_sum(each.cost_usd for each in before) if is_whole else None,
    )


def _rerun(row: TrialRow) -> int:
    return rerun_number(_name(row))


def _name(row: TrialRow) -> str:
    return row.directory.rpartition("/")[2]
