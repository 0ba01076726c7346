"""Keeps trials apart that were judged in different ways: the workspace or the system, live or not, comparable or not.

The difference is a condition of the setup, like any other that trials of one model may differ in.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace

from scoring.rows import TrialRow


def kept_apart(rows: Sequence[TrialRow]) -> list[TrialRow]:
    """Return the rows, with a setup for each way of judging if the trials of one setup were judged in several.

    A trial without a score goes with the other trials of its task, otherwise with those that come first. A chain of
    turns goes with its last turn that has a score.
    """
    ways: defaultdict[str, set[str]] = defaultdict(set)
    for row in rows:
        if row.judged_as is not None:
            ways[row.setup].add(row.judged_as)
    if all(len(of_setup) < 2 for of_setup in ways.values()):
        return list(rows)
    of_chain = _of_chains(rows)
    of_task: dict[tuple[str, str], str] = {}
    for row in rows:
        if row.judged_as is not None:
            of_task.setdefault((row.setup, row.task), row.judged_as)
    apart = []
    for row in rows:
        if len(of_setup := ways[row.setup]) > 1:
            usual = of_task.get((row.setup, row.task), min(of_setup))
            way = of_chain.get(_chain(row)) or row.judged_as or usual
            row = replace(
                row,
                setup=f"{row.setup}+{way}",
                base_setup=f"{row.base_setup}+{way}",
                conditions={**(row.conditions or {"name": row.label}), "judged": f"judged={way}"},
            )
        apart.append(row)
    return apart


def _of_chains(rows: Sequence[TrialRow]) -> dict[tuple[str, str], str]:
    """Return how the last scored turn of each chain was judged."""
    turns = [row for row in rows if row.turn is not None and row.judged_as is not None]
    return {_chain(row): row.judged_as or "" for row in sorted(turns, key=lambda row: row.turn or 0)}


def _chain(row: TrialRow) -> tuple[str, str]:
    """Return the folder and the first turn of a row's chain; of a trial that is no turn, its own directory."""
    folder, _, name = row.directory.rpartition("/")
    return folder, name if row.turn is None else row.interventions.chain_first or name
