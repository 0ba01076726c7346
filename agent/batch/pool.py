"""The workers that a coordinator has, and which units each of them runs. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field


@dataclass
class Worker:
    """A worker that can be given units."""

    name: str
    slots: int
    """Number of units that it runs at once."""
    machine: str
    units: set[str] = field(default_factory=set)
    """Identities of the units that it runs."""


class Pool:
    """The workers of a batch, by name."""

    def __init__(self) -> None:
        self._workers: dict[str, Worker] = {}

    def __contains__(self, name: str) -> bool:
        return name in self._workers

    def __iter__(self) -> Iterator[Worker]:
        return iter(self._workers.values())

    def __getitem__(self, name: str) -> Worker:
        return self._workers[name]

    def join(self, name: str, slots: int, machine: str) -> None:
        """Add a worker."""
        self._workers[name] = Worker(name, slots, machine)

    def get(self, name: str) -> Worker | None:
        """Return a worker; None if it is not here, or not any more."""
        return self._workers.get(name)

    def remove(self, name: str) -> None:
        """Remove a worker that is gone."""
        del self._workers[name]

    def freest(self) -> Worker | None:
        """Return the worker with the most free places; None if none has any."""
        worker = max(self, key=lambda worker: worker.slots - len(worker.units), default=None)
        return worker if worker is not None and worker.slots > len(worker.units) else None
