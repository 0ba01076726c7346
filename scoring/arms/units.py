"""Units of a batch as scoring needs them: which arm an attempt belongs to, and why one has no result yet.

A unit is one attempt of one configuration: a trial, or a chain of turns. A rerun belongs to the unit of the trial that
it replaced.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from scoring.rows import TrialRow
from trajectories.batches.reader import first_name_of


@dataclass(frozen=True, kw_only=True)
class Unit:
    """One planned attempt."""

    batch: str
    """Name of the batch."""
    arm: str
    place: int
    """Place of the arm in the spec, from 0. The first is what the others are compared with."""
    model: str
    """Name of the model for people; models with other settings have other names."""
    benchmark: str
    task: str
    directory: str
    """Folder of its first trial, also of one that was never begun."""
    state: str = ""
    """Reason for which it has not come to its end, in a few words. Empty if it has."""


def unit_of(row: TrialRow) -> str:
    """Return the folder of the first trial of the unit that a row belongs to, whichever turn or rerun it is."""
    folder, slash, name = row.directory.rpartition("/")
    return f"{folder}{slash}{first_name_of(name)}"


def with_arms(rows: Sequence[TrialRow], units: Iterable[Unit]) -> list[TrialRow]:
    """Return the rows with the names of their arms. Arms that no condition of a setup tells apart get setups of their
    own."""
    arms = {unit.directory: unit.arm for unit in units}
    if not arms:
        return list(rows)
    rows = [replace(row, arm=arms.get(unit_of(row))) for row in rows]
    of_setup: defaultdict[str, dict[str, None]] = defaultdict(dict)
    for row in rows:
        if row.arm is not None:
            of_setup[row.setup][row.arm] = None
    return [_apart(row, of_setup) for row in rows]


def _apart(row: TrialRow, of_setup: Mapping[str, Mapping[str, None]]) -> TrialRow:
    if row.arm is None or len(of_setup[row.setup]) < 2:
        return row
    conditions = {**(row.conditions or {"name": row.label}), "arm": row.arm}
    return replace(row, setup=f"{row.setup}+arm={row.arm}", conditions=conditions)
