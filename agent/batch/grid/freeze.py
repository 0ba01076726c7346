"""Writes a grid into the folder of its batch: all that its trials need, besides the task and keys.

A batch may only grow. Every unit that was planned is a unit of the new grid, or the grid is refused with what changed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from agent.batch.grid.growth import changes
from agent.batch.grid.resolve import Grid
from agent.errors import UserError
from trajectories.batches.configuration import Configuration
from trajectories.batches.events import BatchEvent, BatchOpened, Planned
from trajectories.batches.grid import append_to_grid, read_grid
from trajectories.batches.inputs import BatchInputs
from trajectories.record.layout import BatchFolder, TrialFolder
from trajectories.writing.masking import Masker


@dataclass(frozen=True)
class PlannedUnit:
    """A unit of a grid: one attempt of a configuration."""

    configuration: Configuration
    attempt: int
    unit: str
    """The identity of the unit."""


def units_of(grid: Grid) -> list[PlannedUnit]:
    """Return the units of a grid: the first attempt of each configuration, then the second, and so on.

    So a batch that is stopped early has all configurations about equally often.
    """
    identities = [(each, each.units(grid.spec.attempts)) for each in grid.configurations]
    return [
        PlannedUnit(configuration, attempt, units[attempt - 1])
        for attempt in range(1, grid.spec.attempts + 1)
        for configuration, units in identities
    ]


def freeze(grid: Grid, folder: BatchFolder, events: Sequence[BatchEvent]) -> list[PlannedUnit]:
    """Write the grid and its contents into the folder of its batch, synced, and return the units that are new.

    `events` are those of the batch's journal so far. Called with the batch's lock.

    Raises: UserError if the folder holds another batch, or trials without one; RecordError, RecordFull.
    """
    units = units_of(grid)
    planned = check_growth(grid, folder, events, units)
    masker = Masker.from_environment()
    inputs = BatchInputs(folder.path, masker=masker)
    kept: set[str] = set()
    for line in grid.lines:
        for ref, data in line.contents:
            if ref.sha256 not in kept:
                inputs.put(data, ref.name)
                kept.add(ref.sha256)
    append_to_grid(folder.path, grid.configurations, masker=masker)
    return [unit for unit in units if unit.unit not in planned]


def check_growth(
    grid: Grid, folder: BatchFolder, events: Sequence[BatchEvent], units: Sequence[PlannedUnit]
) -> set[str]:
    """Check that a grid is the one of the batch in this folder, or grew from it; return the units planned so far.

    `units` are those of the grid.

    Raises: UserError; RecordError.
    """
    before = read_grid(folder.path)
    if not before and not folder.is_batch() and _holds_trials(folder):
        raise UserError(f"{folder.path} holds trials that are not of a batch; choose another `name` for this one")
    planned = [event for event in events if isinstance(event, Planned)]
    identities = {unit.unit for unit in units}
    lost = [event for event in planned if event.unit not in identities]
    opened = [event for event in events if isinstance(event, BatchOpened)]
    if lost or (opened and opened[-1].spec.get("prices") != grid.spec.recorded.get("prices")):
        ids = {event.configuration for event in lost}
        reasons = changes(grid, opened[-1].spec if opened else {}, [each for each in before if each.id in ids], lost)
        raise UserError(
            f"{folder.path} holds a batch of another spec: {'; '.join(reasons)}. Tasks, models, arms and attempts may "
            "be added to a batch, but nothing may change or be left out; choose another `name`"
        )
    return {event.unit for event in planned}


def _holds_trials(folder: BatchFolder) -> bool:
    try:
        return any(TrialFolder(entry).is_trial() for entry in folder.path.iterdir())
    except OSError:
        return False
