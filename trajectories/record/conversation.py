"""The messages of a trial in order, and the hash that identifies a request.

Messages are only appended. Adding one and taking the hash cost the same for any length.
"""

from __future__ import annotations

import hashlib
import json

from trajectories.record.events import CallFinished, InheritedReply, Message


class Conversation:
    """The ids of messages that no request has held yet, and a hash over all messages."""

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
        """Return the ids that were added since the last call of this method."""
        new_ids, self._new = tuple(self._new), []
        return new_ids

    @property
    def sha256(self) -> str:
        """sha256 over the sha256 of each message and reply, in order."""
        return self._hash.hexdigest()
