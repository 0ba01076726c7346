"""Keeps the environment of a trial for the turn after it: paused while the trial is exported and evaluated."""

from __future__ import annotations

from agent.trial.workplace import Lease
from environments.protocol import EnvironmentFault, Pausable
from trajectories.writing.recorder import Recorder


class Keeping:
    """An environment between two turns of a chain. Whoever makes this object releases it in the end."""

    def __init__(self) -> None:
        self.wanted = True
        """False if no turn comes after the trial that runs."""
        self.loss = ""
        """Reason for which an environment that was wanted could not be kept."""
        self._lease: Lease | None = None
        self._trial = ""

    def keep(self, lease: Lease, recorder: Recorder) -> None:
        """Pause the environment of a trial that has ended by itself, and own it from now on. Never raises.

        An environment that cannot be paused stays with its session, and the next turn gets another one.
        """
        if not self.wanted or lease.started is None or not isinstance(lease.environment, Pausable):
            return
        recorder.note("pausing the environment for the next turn")
        try:
            lease.environment.pause()
        except EnvironmentFault as error:
            self.loss = str(error)
            return
        lease.released_by_session = False
        self._lease, self._trial = lease, recorder.directory.name

    def take(self) -> Lease | None:
        """Return the lease of the environment, which is still paused, to a session; None if there is none."""
        lease, self._lease = self._lease, None
        if lease is not None:
            lease.released_by_session, lease.continues = True, self._trial
        return lease

    def release(self) -> None:
        """Stop the environment if no turn took it."""
        if self._lease is not None:
            self._lease.environment.stop()
            self._lease = None
