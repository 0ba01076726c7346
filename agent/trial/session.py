"""A trial at work: its record is open, its environment runs, its limits count.

`locked_record` is the only way to open a record for more: it holds the lock and the signals, masks, shares contents
with the batch, closes, and writes the derived files. A `Session` is everything that a worker acts in.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from agent.trial.limits import LimitCheck
from agent.trial.priced import CallPricing
from agent.trial.restoring.recovery import Recovery
from agent.trial.snapshots import Snapshots
from agent.trial.start import Opening
from agent.trial.workplace import Workplace
from trajectories.interrupts import held
from trajectories.reading.reader import read_events
from trajectories.reading.summary import Summary
from trajectories.record.events import BaseEvent, Event
from trajectories.record.layout import TrialFolder
from trajectories.writing.derived import write_conveniences
from trajectories.writing.lock import TrialLock
from trajectories.writing.masking import Masker
from trajectories.writing.recorder import Observer, Recorder


class LockedRecord:
    """A trial's folder, owned by this process. Signals wait meanwhile, except in `interruptible` places."""

    def __init__(self, directory: Path) -> None:
        self.folder = TrialFolder(directory)
        self.summary: Summary | None = None
        """Summary of the trial, once the record has been written and closed."""

    def read(self) -> list[Event]:
        """Return the events of the record.

        Raises: RecordError.
        """
        return list(read_events(self.folder.path))

    @contextmanager
    def recorder(self, *, after: BaseEvent | None, observer: Observer | None = None) -> Iterator[Recorder]:
        """Open the record for more after its last event, or a new record without one; close it at the end.

        Raises: RecordError, RecordFull.
        """
        pool = self.folder.pool
        recorder = Recorder(
            self.folder.path,
            masker=Masker.from_environment(),
            pool=pool if after is None or pool.is_dir() else None,
            observer=observer,
            after=after,
        )
        try:
            yield recorder
        finally:
            recorder.close()
        self.summary = write_conveniences(self.folder.path)


@contextmanager
def locked_record(directory: Path) -> Iterator[LockedRecord]:
    """Own a trial's folder.

    Raises: TrialInUse if another process does.
    """
    with held(), TrialLock(directory):
        yield LockedRecord(directory)


@dataclass(frozen=True)
class Session(Workplace):
    """A trial at work, with everything that a worker needs."""

    limits: LimitCheck
    pricing: CallPricing
    snapshots: Snapshots
    recovery: Recovery
    history: tuple[BaseEvent, ...]
    """Events that the record holds already: the worker takes them in, and nothing of them is done again."""
    opening: Opening
