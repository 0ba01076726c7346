"""The harness's side of a terminal, driven with pexpect: typing a line, and keeping what was written to it.

It knows bytes and signs. `persistent.py` knows what is typed and what the signs mean.
"""

from __future__ import annotations

import os
import threading
from typing import Protocol, cast

RETYPE_S = 0.5
"""Seconds without effect after which a line is typed again: a shell that was still starting may have lost it."""
KEPT_BYTES = 1 << 16
"""The most that is kept of what is written to the terminal between two signs."""


class Spawn(Protocol):
    """The part of pexpect's `fdspawn` and `SocketSpawn` that is used here."""

    def send(self, s: bytes) -> int:
        """Type bytes. Raises: OSError."""

    def read_nonblocking(self, size: int = 1, timeout: float | None = -1) -> bytes:
        """Return what was written to the terminal. Raises: pexpect.TIMEOUT, pexpect.EOF, OSError."""

    def close(self) -> None:
        """Hang up. Raises: OSError."""


class Pty:
    """A pseudo-terminal of this machine. Its other side is opened by its name."""

    def __init__(self, owner: int | None = None) -> None:
        """`owner` is the user who may open it; None is our own user. Raises: OSError."""
        self._master, slave = os.openpty()
        try:
            self.name = os.ttyname(slave)
            if owner is not None:
                os.fchown(slave, owner, -1)
        finally:
            os.close(slave)

    def spawn(self) -> Spawn:
        """Return pexpect's handle of the terminal."""
        from pexpect.fdpexpect import fdspawn

        class Hold(fdspawn):  # type: ignore[type-arg]
            def close(self) -> None:
                """Close it, and forget its number first: when a reader wakes up, it may belong to another file."""
                descriptor, self.child_fd, self.closed = self.child_fd, -1, True
                if descriptor >= 0:
                    os.close(descriptor)

        return cast(Spawn, Hold(os.dup(self._master), use_poll=True))

    def close(self) -> None:
        """Close it; processes on this terminal are hung up."""
        if self._master >= 0:
            os.close(self._master)
            self._master = -1


class Terminal:
    """A terminal with a thread that reads everything, so that no process that writes to it has to wait."""

    def __init__(self, spawn: Spawn) -> None:
        self._spawn = spawn
        self._changed = threading.Condition()
        self._seen = bytearray()
        self._first: bytes | None = None
        self._line = b""
        self._last = b"\n"
        self._finished = False
        self.ended = False
        threading.Thread(target=self._read, name="retrace-terminal", daemon=True).start()

    def type(self, line: bytes, first: bytes, last: bytes) -> None:
        """Type `line` until the sign `first` appears; keep what follows it, up to `last`. Raises: OSError."""
        with self._changed:
            self._seen.clear()
            self._first, self._last, self._finished = first, last, False
            self._line = line
        self._spawn.send(line)

    def written(self, within_s: float) -> bytes:
        """Return what came between the two signs, once the last one has come or the time is up."""
        with self._changed:
            self._changed.wait_for(lambda: self._finished or self.ended, within_s)
            self._finished = True
            return b"" if self._first else bytes(self._seen[:KEPT_BYTES])

    def close(self) -> None:
        """Hang up."""
        try:
            self._spawn.close()
        except OSError:
            pass

    def _read(self) -> None:
        from pexpect.exceptions import EOF, TIMEOUT

        while not self.ended:
            try:
                piece = self._spawn.read_nonblocking(1 << 16, timeout=RETYPE_S)
            except TIMEOUT:
                self._retype()
                continue
            except (EOF, OSError, ValueError):
                piece = b""
            with self._changed:
                self._take(piece)
                self.ended = not piece
                self._changed.notify_all()

    def _retype(self) -> None:
        with self._changed:
            wanted = self._first is not None and not self._finished
        if wanted:
            try:
                self._spawn.send(self._line)
            except OSError:
                pass

    def _take(self, piece: bytes) -> None:
        if self._finished:
            return
        seen = self._seen
        begin = max(0, len(seen) - 80)
        seen += piece
        if self._first is not None:
            at = seen.find(self._first, begin)
            del seen[: max(0, len(seen) - 80) if at < 0 else at + len(self._first)]
            if at < 0:
                return
            self._first, begin = None, 0
        at = seen.find(self._last, begin)
        if at >= 0:
            del seen[at:]
            self._finished = True
        elif len(seen) > KEPT_BYTES + 80:
            del seen[KEPT_BYTES:-80]
