"""A socket whose waits a stop interrupts, in a thread, where no signal would: those that an HTTP client makes."""

from __future__ import annotations

import select
import socket
from typing import Any

from trajectories.interrupts import current_stop
from trajectories.waiting import ready


class InterruptibleSocket(socket.socket):
    """A socket whose waits a stop interrupts before a byte has moved."""

    @classmethod
    def of(cls, plain: socket.socket) -> InterruptibleSocket:
        """Take over another socket."""
        timeout_s = plain.gettimeout()
        taken = cls(plain.family, plain.type, plain.proto, fileno=plain.detach())
        taken.settimeout(timeout_s)
        return taken

    recv_into_now = socket.socket.recv_into
    """Receive without a wait that a stop interrupts, in one call into C, which no signal can divide."""

    def recv_into(self, *args: Any) -> int:
        """See `socket.socket`."""
        self._wait(select.POLLIN)
        return super().recv_into(*args)

    def send(self, *args: Any) -> int:
        """See `socket.socket`."""
        self._wait(select.POLLOUT)
        return super().send(*args)

    def sendall(self, data: Any, *flags: int) -> None:
        """See `socket.socket`. The parts are small enough not to wait once the socket takes any."""
        if current_stop() is None:
            super().sendall(data, *flags)
            return
        with memoryview(data) as view, view.cast("B") as rest:
            at = 0
            while at < len(rest):
                at += self.send(rest[at : at + (1 << 16)], *flags)

    def _wait(self, events: int) -> None:
        if current_stop() is not None and not ready(self.fileno(), events, self.gettimeout()):
            raise TimeoutError("timed out")
