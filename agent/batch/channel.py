"""Messages as lines of JSON over a pair of pipes.

A line is written whole or not at all while the reader lives; what is left of a torn line after the writer's death is
dropped.
"""

from __future__ import annotations

import os
import threading
from typing import Generic, TypeVar

from pydantic import BaseModel, TypeAdapter, ValidationError

Incoming = TypeVar("Incoming")
_CHUNK = 1 << 16


class BadMessage(Exception):
    """A line that is not a message. Its sender is broken, and nothing more is taken from it."""


class LineSender:
    """Writes messages to a pipe; several threads may send."""

    def __init__(self, fd: int) -> None:
        self.fd = fd
        self._lock = threading.Lock()
        self.is_broken = False
        """True once the reader is gone. Messages are dropped from then on."""

    def send(self, message: BaseModel) -> None:
        """Send a message, waiting while the pipe is full; drop it if the reader is gone."""
        line = message.model_dump_json().encode() + b"\n"
        with self._lock:
            view = memoryview(line)
            while view and not self.is_broken:
                try:
                    view = view[os.write(self.fd, view) :]
                except OSError:
                    self.is_broken = True


class LineReceiver(Generic[Incoming]):
    """Reads messages from a pipe. `fd` may be used with a selector."""

    def __init__(self, fd: int, adapter: TypeAdapter[Incoming]) -> None:
        self.fd = fd
        self._adapter = adapter
        self._rest = bytearray()
        self.is_closed = False
        """True once the writer is gone and everything was read."""

    def receive(self) -> list[Incoming]:
        """Return the messages that one read brings, waiting for at least one byte; none at the end of the pipe.

        Raises: BadMessage.
        """
        try:
            data = os.read(self.fd, _CHUNK)
        except BlockingIOError:
            return []
        if not data:
            self.is_closed = True
            return []
        self._rest += data
        *lines, rest = self._rest.split(b"\n")
        self._rest = bytearray(rest)
        try:
            return [self._adapter.validate_json(bytes(line)) for line in lines]
        except ValidationError as error:
            reason = error.errors(include_url=False)[0]["msg"]
            raise BadMessage(f"not a message: {bytes(lines[0][:80])!r} ({reason})") from None
