"""The interface of a rule."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol

from trajectories.record.events import Event


class Rule(Protocol):
    """A rule takes in every readable event in order. Its texts name the thing and the value that is wrong."""

    name: str

    def feed(self, event: Event) -> Iterable[str]:
        """Take in an event, and yield its inconsistencies with itself and with the events before it."""

    def end(self) -> Iterable[str]:
        """Yield the inconsistencies of the record as a whole."""
