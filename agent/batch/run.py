"""Runs a spec whose grid is resolved: own its folder, write the grid into it, and drive it.

The same call begins a batch, extends it and continues it.
"""

from __future__ import annotations

from contextlib import ExitStack

from agent.batch.drive import Drive, drive
from agent.batch.engines.protocol import Engine
from agent.batch.grid.freeze import PlannedUnit, freeze
from agent.batch.grid.resolve import Grid
from agent.batch.settings import Settings
from agent.batch.state.view import BatchState, BatchView
from agent.errors import MachineError
from trajectories.batches.events import Planned
from trajectories.batches.journal import read_batch_events
from trajectories.batches.lock import BatchLock
from trajectories.batches.memory import without_collection


def run_grid(
    grid: Grid, engine: Engine, settings: Settings, view: BatchView, *, per_process: int | None = None
) -> BatchState:
    """Run the units of a grid that are not finished, and return the state at the end.

    Raises: UserError if the folder holds another batch; BatchInUse; RecordError, RecordFull; MachineError.
    """
    folder = grid.folder
    with ExitStack() as owning:
        try:
            folder.path.mkdir(parents=True, exist_ok=True)
            owning.enter_context(BatchLock(folder.path))
        except OSError as error:
            raise MachineError(
                f"{folder.path}: the folder of the batch cannot be written ({error.strerror}); choose another with "
                "--runs"
            ) from None
        with without_collection():
            events = list(read_batch_events(folder.path)) if folder.is_batch() else []
            new = [_planned(unit) for unit in freeze(grid, folder, events)]
        return drive(Drive(folder.path, grid.spec.recorded, engine, settings, view, per_process), events, new)


def _planned(unit: PlannedUnit) -> Planned:
    configuration = unit.configuration
    return Planned(
        unit=unit.unit,
        configuration=configuration.id,
        arm=configuration.arm,
        attempt=unit.attempt,
        trial=configuration.trial(unit.attempt),
    )
