"""What a rule of the validator is."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol

from trajectories.record.events import Event


class Rule(Protocol):
    """Fed every event that could be read, in order; gives what is wrong, in words that name the thing and the value."""

    name: str

    def feed(self, event: Event) -> Iterable[str]:
        """What is wrong with this event after those before it."""

    def end(self) -> Iterable[str]:
        """What is wrong with the record as a whole."""
