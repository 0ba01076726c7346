"""Reads a batch: what was planned, which folders its units have, and what the journal tells of them.

A unit of work is one attempt at a configuration: a trial, or a chain of turns. Its folders are found by their names: a
rerun has the name of the trial that it replaces and `.rN`, a later turn that of turn 1 and `.tN`. What a trial did and
cost is in its record (`results`), which always wins over the journal.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from trajectories.batches.configuration import Configuration
from trajectories.batches.events import BatchClosed, BatchOpened, Ended, Planned, Started
from trajectories.batches.grid import read_grid
from trajectories.batches.journal import read_batch_events
from trajectories.errors import RecordError
from trajectories.reading.reader import has_begun
from trajectories.record.layout import BatchFolder, TrialFolder, name_of_rerun, rerun_in

_SUFFIXES = re.compile(r"(?:\.[rt][1-9][0-9]{0,8})+\Z", re.ASCII)
"""End of the name of a rerun, a turn, or a turn of a rerun."""
_TURN = re.compile(r"\.t[1-9][0-9]{0,8}\Z", re.ASCII)
"""End of the name of a later turn."""


@dataclass(frozen=True, kw_only=True)
class Unit:
    """One attempt at a configuration, with all folders that belong to it."""

    batch: Path
    """Folder of the batch."""
    identity: str
    configuration: Configuration
    attempt: int
    trial: str
    """Name of the folder of its first trial."""
    folders: tuple[str, ...] = ()
    """Names of all its folders that are there, in the order of their names."""
    starts: int = 0
    """Number of times that a worker was about to work on it."""
    counted: int = 0
    """Number of these that followed an infrastructure failure."""
    last: Ended | None = None
    """Last end of work on it in the journal, unless a start followed."""

    @property
    def arm(self) -> str:
        """Name of the arm."""
        return self.configuration.arm

    @cached_property
    def rerun(self) -> int:
        """Number of the rerun that counts: the last one whose record has begun; 0 if the first trial counts."""
        numbers = sorted({number for name in self.folders if (number := rerun_number(name))}, reverse=True)
        return next((number for number in numbers if self._has_begun(name_of_rerun(self.trial, number))), 0)

    @property
    def current(self) -> str:
        """Name of the folder of the trial that counts; of a chain, that of its turn 1."""
        return name_of_rerun(self.trial, self.rerun)

    @property
    def superseded(self) -> tuple[str, ...]:
        """Names of the folders that another trial has replaced. They do not count any more, but their costs do."""
        return tuple(name for name in self.folders if rerun_number(name) < self.rerun)

    def _has_begun(self, folder: str) -> bool:
        try:
            return has_begun(self.batch / folder)
        except (RecordError, OSError):
            return True  # a record that cannot be read is there


@dataclass(frozen=True, kw_only=True)
class Batch:
    """A batch as its files tell it."""

    directory: Path
    configurations: Mapping[str, Configuration]
    """The resolved grid, by the id of the configuration."""
    units: Sequence[Unit]
    """All units, in the order in which they were planned."""
    opened: BatchOpened
    """The last takeover by a coordinator."""
    closed: BatchClosed | None
    """The end of that coordinator, if it came to one."""
    strays: Sequence[str] = ()
    """Names of folders with a record that belong to no unit."""

    @cached_property
    def by_identity(self) -> Mapping[str, Unit]:
        """The units by their identity."""
        return {unit.identity: unit for unit in self.units}


@dataclass
class _Journal:
    """What the journal tells of one unit."""

    planned: Planned
    starts: int = 0
    counted: int = 0
    last: Ended | None = None
    folders: list[str] = field(default_factory=list)


def read_batch(directory: Path) -> Batch:
    """Return a batch from its files, also while it runs. The records of its trials are not opened.

    Raises: RecordError if it is not a batch, or a file of it is damaged, with file and line.
    """
    configurations = {each.id: each for each in read_grid(directory)}
    units: dict[str, _Journal] = {}
    opened: BatchOpened | None = None
    closed: BatchClosed | None = None
    path = BatchFolder(directory).events
    for event in read_batch_events(directory):
        match event:
            case BatchOpened():
                opened, closed = event, None
            case BatchClosed():
                closed = event
            case Planned():
                if event.configuration not in configurations:
                    raise RecordError(
                        f"{path}: event {event.seq} plans {event.trial[:80]!r} for a configuration that "
                        f"{BatchFolder(directory).grid.name} does not hold"
                    )
                units.setdefault(event.unit, _Journal(event))
            case Started() if event.unit in units:
                unit = units[event.unit]
                unit.starts += 1
                unit.counted += event.counted
                unit.last = None
            case Ended() if event.unit in units:
                units[event.unit].last = event
    if opened is None:
        raise RecordError(f"{path}: the journal of the batch is empty")
    strays = _sort_folders(directory, {unit.planned.trial: unit for unit in units.values()})
    return Batch(
        directory=directory,
        configurations=configurations,
        units=[_unit(directory, configurations, identity, unit) for identity, unit in units.items()],
        opened=opened,
        closed=closed,
        strays=strays,
    )


def first_name_of(name: str) -> str:
    """Return the name of the first trial of a unit, given that of any of its folders."""
    return _SUFFIXES.sub("", name)


def rerun_number(name: str) -> int:
    """Return the number of the rerun that a folder of a unit belongs to, given its name; 0 for the first trial."""
    rerun = rerun_in(_TURN.sub("", name))
    return 0 if rerun is None else rerun[1]


def _sort_folders(directory: Path, units: Mapping[str, _Journal]) -> list[str]:
    """Give each unit the names of its folders; return the names of trials that belong to none."""
    strays = []
    try:
        with os.scandir(directory) as entries:
            names = sorted(entry.name for entry in entries if entry.name[0] != "." and entry.is_dir())
    except OSError as error:
        raise RecordError(f"{directory}: cannot be read ({error.strerror})") from None
    for name in names:
        unit = units.get(name) or units.get(first_name_of(name))
        if unit is not None:
            unit.folders.append(name)
        elif TrialFolder(directory / name).is_trial():
            strays.append(name)
    return strays


def _unit(directory: Path, configurations: Mapping[str, Configuration], identity: str, unit: _Journal) -> Unit:
    return Unit(
        batch=directory,
        identity=identity,
        configuration=configurations[unit.planned.configuration],
        attempt=unit.planned.attempt,
        trial=unit.planned.trial,
        folders=tuple(unit.folders),
        starts=unit.starts,
        counted=unit.counted,
        last=unit.last,
    )
