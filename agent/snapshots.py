"""Keeps the workspace of a running trial: after each step, what that step changed.

The environment lists and reads, `trajectories.snapshots` stores; here is only when, and what is read.
"""

from __future__ import annotations

import time

from environments.protocol import Environment, EnvironmentUnavailable, Listing
from trajectories.events import Checkpoint, Snapshot
from trajectories.interrupts import interruptible
from trajectories.recorder import Recorder
from trajectories.snapshots import SnapshotWriter


class Snapshots:
    """The snapshots, and checkpoints where they were asked for, of one trial.

    Raises: RecordFull, EnvironmentFault; KeyboardInterrupt where the user interrupts.
    """

    def __init__(
        self, environment: Environment, recorder: Recorder, *, checkpoint_every: int | None = None, after: int | None = None
    ) -> None:
        """`after`: the step whose snapshot the record ends with, in the state that the environment is in."""
        self._environment = environment
        self._recorder = recorder
        self._every = checkpoint_every
        self._step = -1 if after is None else after
        self._mark = Listing()
        if after is not None:
            self._mark = environment.listing()

    def begin(self) -> None:
        """Keep the state that the trial begins with, all of it."""
        self.after_step(0)

    def after_step(self, step: int) -> None:
        """Keep what changed since the last one, unless this step is kept already."""
        if step <= self._step:
            return
        began = time.monotonic()
        with interruptible():
            listing = self._environment.listing()
            changed = listing.since(self._mark)
            writer = SnapshotWriter(self._recorder.blobs)
            ...
