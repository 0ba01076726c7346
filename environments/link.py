"""The two byte streams to a supervisor, whatever carries them: bytes move, each with a time limit.

`wire/frames.py` knows the meaning of the bytes.
"""

from __future__ import annotations

import fcntl
import os
import select
import socket
import subprocess
import time
from collections import deque
from collections.abc import Callable
from typing import IO, Protocol

from trajectories.interrupts import current_stop
from trajectories.waiting import ready
from trajectories.writing import excerpts

_F_SETPIPE_SZ = 1031
_DIAGNOSTICS_BYTES = 4000


class Link(Protocol):
    """A stream in each direction. Raises TimeoutError if nothing moves for `timeout_s`, OSError if the peer is gone."""

    def send(self, data: bytes | memoryview, timeout_s: float) -> None:
        """Send all of the data; fail if nothing moves for `timeout_s`."""

    def receive(self, view: memoryview, timeout_s: float) -> int:
        """Fill the start of `view` with what has arrived; return the number of bytes, 0 at the end of the stream."""

    def diagnostics(self) -> str:
        """Return the end of what was written to standard error."""

    def close(self) -> None:
        """Close both streams; the supervisor reads the end of its input and leaves."""


class Closing(Protocol):
    """An object that is open until it is closed."""

    def close(self) -> None:
        """Close it."""


class ProcessLink:
    """A child process's standard streams."""

    def __init__(self, process: subprocess.Popen[bytes], errors: IO[bytes]) -> None:
        assert process.stdin is not None
        assert process.stdout is not None
        self.process = process
        self._in = process.stdin.fileno()
        self._out = process.stdout.fileno()
        self._errors = errors
        os.set_blocking(self._in, False)
        os.set_blocking(self._out, False)
        try:
            fcntl.fcntl(self._out, _F_SETPIPE_SZ, 1 << 20)
        except OSError:
            pass  # a user's pipes may be limited; the default size only costs more wake-ups

    def send(self, data: bytes | memoryview, timeout_s: float) -> None:
        view = memoryview(data)
        while view:
            try:
                view = view[os.write(self._in, view) :]
            except BlockingIOError:
                if not ready(self._in, select.POLLOUT, timeout_s):
                    raise TimeoutError from None

    def receive(self, view: memoryview, timeout_s: float) -> int:
        if not ready(self._out, select.POLLIN, timeout_s):
            raise TimeoutError
        return os.readv(self._out, [view])

    def diagnostics(self) -> str:
        if self._errors.closed:
            return ""
        size = os.fstat(self._errors.fileno()).st_size
        kept = os.pread(self._errors.fileno(), _DIAGNOSTICS_BYTES, max(0, size - _DIAGNOSTICS_BYTES))
        return excerpts.last_bytes(kept).strip()

    def close(self) -> None:
        for stream in (self.process.stdin, self.process.stdout):
            assert stream is not None
            try:
                stream.close()
            except OSError:
                pass

    def ended(self) -> None:
        """Release the rest, once the process has ended and nobody needs its standard error anymore."""
        self._errors.close()


class AttachLink:
    """A container's attached streams: raw in, 8-byte framed stdout and stderr out.

    https://docs.docker.com/reference/api/engine/version/v1.41/#tag/Container/operation/ContainerAttach
    """

    def __init__(self, raw: socket.socket, owner: Closing) -> None:
        """`owner` is the object that the daemon's client returned; while it is open, so is the socket."""
        self._socket = raw
        self._recv_into: Callable[[memoryview], int] = getattr(raw, "recv_into_now", raw.recv_into)
        self._owner = owner
        self._arrived: deque[bytes | int] = deque()
        """Bytes that `receive` has read but not yet accounted for: a piece, or the size of one that is in its view."""
        self._header = b""
        self._left = 0
        self._is_stdout = True
        self._errors = b""

    def send(self, data: bytes | memoryview, timeout_s: float) -> None:
        view = memoryview(data)
        self._socket.settimeout(timeout_s)
        while view:
            view = view[self._socket.send(view[: 1 << 20]) :]

    def receive(self, view: memoryview, timeout_s: float) -> int:
        """Fill the start of `view`, as `Link` describes. An interrupt may lose bytes, but never the frame borders.

        CPython runs signal handlers after a call. Therefore `extend` and `map` read and note a piece in one call, and
        lines that change several fields contain no call.
        """
        until = time.monotonic() + timeout_s
        while True:
            late = bool(self._arrived)
            if not late:
                left_s = max(until - time.monotonic(), 0.000_001)
                if current_stop() is not None and not ready(self._socket.fileno(), select.POLLIN, left_s):
                    raise TimeoutError
                self._socket.settimeout(left_s)
                if not self._left:
                    self._arrived.extend(map(self._socket.recv, (8 - len(self._header),)))
                elif self._is_stdout:
                    self._arrived.extend(map(self._recv_into, (view[: self._left],)))
                else:
                    self._arrived.extend(map(self._socket.recv, (min(self._left, 65536),)))
            got = self._arrived[0]
            none: deque[bytes | int] = deque()
            if isinstance(got, int):
                self._left, self._arrived = self._left - got, none
                if not late:
                    return got
            elif not got:
                self._arrived = none
                return 0
            elif self._left:
                errors, left = (self._errors + got)[-_DIAGNOSTICS_BYTES:], self._left - len(got)
                self._errors, self._left, self._arrived = errors, left, none
            else:
                header = self._header + got
                left, is_stdout = int.from_bytes(header[4:], "big"), header[0] != 2
                if len(header) == 8:
                    self._header, self._left, self._is_stdout, self._arrived = b"", left, is_stdout, none
                else:
                    self._header, self._arrived = header, none

    def diagnostics(self) -> str:
        return excerpts.last_bytes(self._errors).strip()

    def wake(self) -> None:
        """End the wait of another thread. It still reads what has arrived; then the stream ends."""
        try:
            self._socket.shutdown(socket.SHUT_RD)
        except OSError:
            pass

    def close(self) -> None:
        try:
            self._socket.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass
        self._socket.close()
        self._owner.close()
