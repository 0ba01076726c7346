"""Reads a batch: what was planned, which folders its units have, and what the journal tells of them.

A unit of work is one attempt at a configuration: a trial, or a chain of turns. Its folders are found by their names: a
rerun has the name of the trial that it replaces and `.rN`, a later turn that of turn 1 and `.tN`. What a trial did and
cost is in its record (`results`), which always wins over the journal.
"""

from __future__ import annotations

import os
import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from trajectories.batches.configuration import Configuration
from trajectories.batches.events import BatchClosed, BatchEvent, BatchOpened, Ended, Planned, Started
from trajectories.batches.grid import read_grid
from trajectories.batches.journal import read_batch_events
from trajectories.batches.memory import without_collection
from trajectories.errors import RecordError
from trajectories.reading.reader import has_begun
from trajectories.record.layout import BatchFolder, TrialFolder, name_of_rerun, rerun_in

_SUFFIXES = re.compile(r"(?:\.[rt][1-9][0-9]{0,8})+\Z", re.ASCII)
"""End of the name of a rerun, a turn, or a turn of a rerun."""
_TURN = re.compile(r"\.t[1-9][0-9]{0,8}\Z", re.ASCII)
"""End of the name of a later turn."""


@dataclass(frozen=True, kw_only=True, slots=True)
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
    rerun: int = 0
    """Number of the rerun that counts: the last one whose record has begun; 0 if the first trial counts."""
    starts: int = 0
    """Number of times that a worker was about to work on it."""
    counted: int = 0
    """Number of these that followed an infrastructure failure."""
    last: Ended | None = None
    """Last end of work on it in the journal; None if there is none, or a start followed."""

    @property
    def arm(self) -> str:
        """Name of the arm."""
        return self.configuration.arm

    @property
    def current(self) -> str:
        """Name of the folder of the trial that counts; of a chain, that of its turn 1."""
        return name_of_rerun(self.trial, self.rerun)

    @property
    def superseded(self) -> tuple[str, ...]:
        """Names of the folders that another trial has replaced. They do not count any more, but their costs do."""
        return tuple(name for name in self.folders if rerun_number(name) < self.rerun)


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


def read_batch(directory: Path, events: Iterable[BatchEvent] | None = None) -> Batch:
    """Return a batch from its files, also while it runs. The records of its trials are not opened.

    `events` are those of its journal, if they were read already.

    Raises: RecordError if it is not a batch, or a file of it is damaged, with file and line.
    """
    with without_collection():
        return _read(directory, read_batch_events(directory) if events is None else events)


def _read(directory: Path, events: Iterable[BatchEvent]) -> Batch:
    configurations = {each.id: each for each in read_grid(directory)}
    journal = _Journal()
    for event in events:
        journal.feed(event)
    path = BatchFolder(directory).events
    if journal.opened is None:
        raise RecordError(f"{path}: the journal of the batch is empty")
    folders, strays = _folders(directory, {unit.planned.trial for unit in journal.units.values()})
    units = []
    for identity, unit in journal.units.items():
        planned = unit.planned
        if planned.configuration not in configurations:
            raise RecordError(
                f"{path}: event {planned.seq} plans {planned.trial[:80]!r} for a configuration that "
                f"{BatchFolder(directory).grid.name} does not hold; restore that file"
            )
        if planned.trial != configurations[planned.configuration].trial(planned.attempt) or "/" in planned.trial:
            raise RecordError(
                f"{path}: event {planned.seq} plans {planned.trial[:80]!r}, which is not the name of attempt "
                f"{planned.attempt} at its configuration"
            )
        of_unit = folders.get(planned.trial, ())
        units.append(
            Unit(
                batch=directory,
                identity=identity,
                configuration=configurations[planned.configuration],
                attempt=planned.attempt,
                trial=planned.trial,
                folders=tuple(of_unit),
                rerun=last_rerun(directory, planned.trial, of_unit),
                starts=unit.starts,
                counted=unit.counted,
                last=unit.last,
            )
        )
    return Batch(
        directory=directory,
        configurations=configurations,
        units=units,
        opened=journal.opened,
        closed=journal.closed,
        strays=strays,
    )


class _OfUnit:
    """The journal's facts about one unit."""

    __slots__ = ("counted", "last", "planned", "starts")

    def __init__(self, planned: Planned) -> None:
        self.planned = planned
        self.starts = self.counted = 0
        self.last: Ended | None = None


class _Journal:
    """The journal's facts, taken in event by event."""

    def __init__(self) -> None:
        self.opened: BatchOpened | None = None
        self.closed: BatchClosed | None = None
        self.units: dict[str, _OfUnit] = {}

    def feed(self, event: BatchEvent) -> None:
        """Take in the next event."""
        if isinstance(event, Ended):
            if (unit := self.units.get(event.unit)) is not None:
                unit.last = event
        elif isinstance(event, Started):
            if (unit := self.units.get(event.unit)) is not None:
                unit.last = None
                unit.starts += 1
                unit.counted += event.counted
        elif isinstance(event, Planned):
            self.units.setdefault(event.unit, _OfUnit(event))
        elif isinstance(event, BatchOpened):
            self.opened, self.closed = event, None
        elif isinstance(event, BatchClosed):
            self.closed = event


def _has_begun(directory: Path) -> bool:
    try:
        return has_begun(directory)
    except (RecordError, OSError):
        return True  # a record that cannot be read is there


def last_rerun(batch: Path, trial: str, folders: Sequence[str]) -> int:
    """Return the number of the last rerun of a unit whose record has begun, given the names of its folders; 0 if there
    is none."""
    if not folders or (len(folders) == 1 and folders[0] == trial):
        return 0
    numbers = sorted({number for name in folders if (number := rerun_number(name))}, reverse=True)
    return next((number for number in numbers if _has_begun(batch / name_of_rerun(trial, number))), 0)


def first_name_of(name: str) -> str:
    """Return the name of the first trial of a unit, given that of any of its folders."""
    return _SUFFIXES.sub("", name)


def rerun_number(name: str) -> int:
    """Return the number of the rerun that a folder of a unit belongs to, given its name; 0 for the first trial."""
    rerun = rerun_in(_TURN.sub("", name))
    return 0 if rerun is None else rerun[1]


def _folders(directory: Path, trials: Collection[str]) -> tuple[Mapping[str, list[str]], list[str]]:
    """Return the names of the folders of each unit by its first trial, and the names of trials that belong to none."""
    folders: defaultdict[str, list[str]] = defaultdict(list)
    strays = []
    try:
        with os.scandir(directory) as entries:
            names = sorted(entry.name for entry in entries if entry.name[0] != "." and entry.is_dir())
    except OSError as error:
        raise RecordError(f"{directory}: cannot be read ({error.strerror})") from None
    for name in names:
        if name in trials:
            folders[name].append(name)
        elif (first := first_name_of(name)) in trials:
            folders[first].append(name)
        elif TrialFolder(directory / name).is_trial():
            strays.append(name)
    return folders, strays
