"""A gate that notes everything that passes it, and lets calls and evaluations pass as a test wants."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from agent.trial.gate import CallBound, CallUse
from trajectories.waiting import Event


@dataclass
class NotingGate:
    """Implements `Gate`. A call is let through once `decide` returns; it gets the number of the call, from 1."""

    decide: Callable[[int], object] | None = None
    """Called in the place of a wait, and may raise `Refused`; None lets every call leave at once."""
    admitted: list[tuple[str, CallBound]] = field(default_factory=list)
    settled: dict[int, CallUse] = field(default_factory=dict)
    free_places: list[Event] = field(default_factory=list)
    """Events that evaluations wait for, in order."""
    evaluating: int = 0
    most_evaluating: int = 0
    waits: int = 0
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def admit(self, model: str, bound: CallBound) -> int:
        """See `Gate`."""
        self.waits += 1
        if self.decide is not None:
            self.decide(len(self.admitted) + 1)
        return self._ticket(model, bound)

    def may_leave(self, model: str, bound: CallBound) -> int | None:
        """See `Gate`."""
        return self._ticket(model, bound) if self.decide is None else None

    def _ticket(self, model: str, bound: CallBound) -> int:
        with self._lock:
            self.admitted.append((model, bound))
            return len(self.admitted)

    def leaves(self, ticket: int) -> None:
        """See `Gate`."""

    def settle(self, ticket: int, use: CallUse) -> None:
        """See `Gate`."""
        assert ticket not in self.settled, "settled twice"
        self.settled[ticket] = use

    @contextmanager
    def evaluation(self) -> Iterator[None]:
        """See `Gate`."""
        if self.free_places:
            self.free_places.pop(0).wait()
        with self._lock:
            self.evaluating += 1
            self.most_evaluating = max(self.most_evaluating, self.evaluating)
        try:
            yield
        finally:
            with self._lock:
                self.evaluating -= 1
