"""A trial at work: its record is open, its environment runs, its limits count.

`LockedRecord` opens a record for more, and is the only way to do that: it holds the lock and the signals, masks, shares
contents with the batch, closes, and writes the derived files. A `Workplace` is a record with an environment that runs;
a `Session` is all that a worker acts in.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from agent.trial.limits import LimitCheck
from agent.trial.order import Order
from agent.trial.priced import CallPricing
from agent.trial.snapshots import Snapshots
from agent.trial.start import Lease, Opening
from environments.protocol import Environment, Started
from trajectories.interrupts import held
from trajectories.reading.reader import read_events
from trajectories.reading.summary import Summary
from trajectories.record.events import BaseEvent, EnvStarted, Event, Warned
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
class Workplace:
    """An open record and the environment that runs for it."""

    order: Order
    recorder: Recorder
    environment: Environment
    started: Started


@dataclass(frozen=True)
class Session(Workplace):
    """A trial at work, with everything that a worker needs."""

    limits: LimitCheck
    pricing: CallPricing
    snapshots: Snapshots
    opening: Opening


def start_environment(order: Order, recorder: Recorder, lease: Lease) -> Workplace:
    """Start the environment and put the task's files into it; both are recorded. One that runs is used as it is.

    Raises: EnvironmentFault, TaskError.
    """
    if lease.started is not None:
        return Workplace(order, recorder, lease.environment, lease.started)
    began = time.monotonic()
    started = lease.environment.start()
    recorder.append(_env_started(started, time.monotonic() - began))
    for lowered in started.lowered:
        text = f"{lowered.limit}: {lowered.asked} asked, {lowered.given} given"
        recorder.append(Warned(kind="limit_lowered", text=text))
    for skipped in order.benchmark.prepare(order.task, lease.environment):
        text = f"not copied into the workspace: {skipped.path} ({skipped.why})"
        recorder.append(Warned(kind="not_copied", text=text))
    return Workplace(order, recorder, lease.environment, started)


def _env_started(started: Started, seconds: float) -> EnvStarted:
    return EnvStarted(
        kind=started.kind,
        container=started.container,
        image=started.image,
        image_digest=started.image_digest,
        user=started.user,
        workdir=started.workdir,
        promises=tuple(started.promises),
        lost=started.lost,
        lowered=started.lowered,
        versions=dict(started.versions),
        seconds=seconds,
    )
