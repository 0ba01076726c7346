"""The messages of a trial in order, and the hash that a request is known by.

Append-only; adding a message and taking the hash are constant work, whatever the length.
"""

from __future__ import annotations

import hashlib
import json

from trajectories.record.events import CallFinished, InheritedReply, Message


class Conversation:
    """What requests are made of: the ids that no request has held yet, and a hash over all there is."""

    def __init__(self) -> None:
        self._new: list[str] = []
        self._hash = hashlib.sha256()

    def add(self, turn: Message | CallFinished | InheritedReply) -> None:
        """Append a message or a reply."""
        self._new.append(turn.id)
        if isinstance(turn, Message):
            content: object = [turn.role, turn.content, turn.tool_call_id]
        else:
            content = ["assistant", turn.reply.model_dump()]
        line = json.dumps(content, sort_keys=True, separators=(",", ":"), default=str)
        self._hash.update(hashlib.sha256(line.encode()).digest())

    def take_new_ids(self) -> tuple[str, ...]:
        """Ids added since the last time this was asked."""
        new, self._new = tuple(self._new), []
        return new

    @property
    def sha256(self) -> str:
        """sha256 over the sha256 of each turn, in order."""
        return self._hash.hexdigest()
