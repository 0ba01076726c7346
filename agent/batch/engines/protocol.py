"""The contract of an engine: it starts workers somewhere, carries messages, and tells when a worker is gone."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from agent.batch.messages import FromWorker, ToWorker


@dataclass(frozen=True)
class Joined:
    """A worker is ready to be given work."""

    worker: str
    """Name of the worker, never used again in this batch."""
    slots: int
    """Number of trials that it runs at once."""
    machine: str
    """Machine that it runs on: evaluations are counted for each."""


@dataclass(frozen=True)
class Told:
    """A worker sent a message."""

    worker: str
    message: FromWorker


@dataclass(frozen=True)
class Lost:
    """A worker is gone, and nothing more will come from it."""

    worker: str
    reason: str


News = Joined | Told | Lost


class Engine(Protocol):
    """The place where the workers of a batch run."""

    name: str
    """Name for the journal: local or ray."""

    def recover(self, batch: Path) -> None:
        """Bring home what workers of an earlier coordinator left on other machines. Called before records are read.

        Raises: KeyboardInterrupt; MachineError.
        """

    def start(self, batch: Path, workers: int, per_process: int | None) -> None:
        """Start workers for so many trials at once, without waiting for them.

        Raises: MachineError if they cannot be started.
        """

    def news(self, timeout_s: float) -> list[News]:
        """Return what has come from workers, waiting at most so long for the first.

        An interrupt is raised only while nothing has come, so that no news is lost: only the wait is `interruptible`.
        A lost worker is replaced by the engine while `start`'s number of trials is wanted. `Joined` comes only for a
        worker whose `Hello` fits (`agent.batch.code.mismatch`).

        Raises: KeyboardInterrupt; MachineError if no worker can be had.
        """

    def send(self, worker: str, message: ToWorker) -> None:
        """Send a message; one to a worker that is gone is dropped."""

    def kill(self, worker: str) -> None:
        """End a worker at once; `Lost` follows. Nothing from it is taken after that."""

    def close(self, grace_s: float) -> None:
        """Ask all workers to end, kill those that have not after the grace, and release everything."""
