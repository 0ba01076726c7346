"""Facts about a history that only grows, at the same cost for any length: each entry is looked at once."""

from __future__ import annotations

from collections.abc import Sequence

from agent.models.protocol import AssistantTurn
from trajectories.record.events import Message

Entry = Message | AssistantTurn


class Growing:
    """The part of a history that was looked at already, known by its length, its first and its last entry."""

    def __init__(self) -> None:
        self._length = 0
        self._ends: tuple[Entry, Entry] | None = None

    def new(self, history: Sequence[Entry]) -> Sequence[Entry] | None:
        """Return the entries after those of the last call; None if the history is not a longer form of that one."""
        before = self._length
        grown = self._ends is None or (
            len(history) >= before and history[0] is self._ends[0] and history[before - 1] is self._ends[1]
        )
        self._length, self._ends = len(history), (history[0], history[-1]) if history else None
        return history[before:] if grown else None


class Replies:
    """The replies of a growing history: their number, and the ids of their tool calls."""

    def __init__(self) -> None:
        self._growing = Growing()
        self.count = 0
        self.call_ids: set[str] = set()

    def take_in(self, history: Sequence[Entry]) -> None:
        """Look at the entries that are new."""
        entries = self._growing.new(history)
        if entries is None:
            self.count, self.call_ids, entries = 0, set(), history
        for entry in entries:
            if isinstance(entry, AssistantTurn):
                self.count += 1
                self.call_ids.update(call.id for call in entry.reply.tool_calls)
