"""Trials that a rerun has replaced: they are never rows of their own, and their costs are in the cost of the rerun.

Infrastructure ended such a trial, and a batch began it again in the folder `NAME.rN`. The last one counts.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from operator import attrgetter
from typing import Any

from scoring.rows import TrialRow
from scoring.statistics.sums import known_sum
from trajectories.record.layout import rerun_in
from trajectories.record.usage import Usage

_COSTS = ("cost_usd", "billed_usd", "computed_usd", "list_usd", "agentmeter_usd")
_COUNTS = ("failed_calls", "unmetered_calls")


def without_superseded(rows: Sequence[TrialRow]) -> list[TrialRow]:
    """Return the rows without those that a rerun replaced; costs and tokens of a rerun include theirs.

    Time, steps and result are the rerun's own. If a replaced trial is not among the rows, the costs are unknown.
    """
    if all(row.rerun is None for row in rows):
        return list(rows)
    groups: defaultdict[tuple[str, str], list[TrialRow]] = defaultdict(list)
    for row in rows:
        groups[_first(row)].append(row)
    last = {row.directory: row for group in groups.values() for row in _folded(group)}
    return [last[row.directory] for row in rows if row.directory in last]


def _first(row: TrialRow) -> tuple[str, str]:
    """Return the folder and the name of the trial that was replaced first; of another trial, its own."""
    folder, _, name = row.directory.rpartition("/")
    rerun = None if row.rerun is None else rerun_in(name)
    return folder, name if rerun is None else rerun[0]


def _folded(group: Sequence[TrialRow]) -> list[TrialRow]:
    last = max(group, key=lambda row: row.rerun or 0)
    if last.rerun is None:
        return list(group)
    before = [row for row in group if row is not last]
    missing = last.rerun - len(before)
    rows = [*before, last]
    costs: dict[str, Any] = {name: None if missing else known_sum(map(attrgetter(name), rows)) for name in _COSTS}
    counts: dict[str, Any] = {name: sum(map(attrgetter(name), rows)) for name in _COUNTS}
    counts["unmetered_calls"] += missing  # makes the tokens unknown
    experts = [row.interventions.expert_usd for row in rows if row.interventions.expert_costs is not None]
    folded = replace(
        last,
        **costs,
        **counts,
        usage=Usage.sum(row.usage for row in rows),
        interventions=replace(last.interventions, expert_usd=known_sum(experts) if experts and not missing else None),
        rerun=None,
        superseded=len(before),
        superseded_usd=None if missing else known_sum(row.cost_usd for row in before),
    )
    return [folded]
