"""The contract of whoever acts in a session: our own loop, or another agent's program."""

from __future__ import annotations

from typing import Protocol

from agent.trial.session import Session
from trajectories.record.exits import Exit


class Worker(Protocol):
    """Works on the task of a session until it stops by itself or a limit is reached."""

    def warm_up(self) -> None:
        """Begin in a thread what is slow and needs no session, such as imports, while the environment starts."""

    def work(self, session: Session) -> Exit:
        """Act until the trial is over, and return the reason.

        Every event is recorded before what it announces happens, and fed to the session's limits.

        Raises: RecordFull, DiskFull, EnvironmentFault; KeyboardInterrupt if the user interrupts. The record then holds
        everything that was finished.
        """

    def close(self) -> None:
        """Release everything that the worker holds."""
