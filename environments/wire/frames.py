"""Requests to a supervisor and its answers, as frames on one link: numbered, and marked with a secret.

Actions do not know the secret (the nonce), so they cannot forge an answer. After a fault every further exchange fails
with the same error; after any other interruption, unread answers are read away, and the frames can be used again.
`supervisor/10-environment.sh` describes the frames.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager

from environments.link import Link
from environments.protocol import DiskFull, EnvironmentLost, SupervisorLost
from environments.wire.health import Health
from environments.wire.incoming import Incoming
from trajectories.interrupts import held
from trajectories.writing import excerpts

IDLE_S = 60.0
"""Seconds without progress after which an output or archive counts as lost."""
CANCEL_S = 5.0
"""Seconds within which an interrupted action ends; otherwise its environment counts as lost."""
DRAIN_S = 1.0
"""Seconds for reading away answers that nobody wants after an interruption."""


class Frames:
    """The frames on one link."""

    def __init__(self, link: Link, nonce: str, health: Health) -> None:
        self.link = link
        self.fault: EnvironmentLost | None = None
        self.number = 0
        """Number of the last request."""
        self.tick = b""
        """Byte that the supervisor needs now and then while it is awaited; empty if it needs none."""
        self.unanswered = False
        """True while an action runs, so that an interruption has to end it."""
        self.late_answer: list[str] = []
        """Answer to the last action that was interrupted; its reader clears it."""
        self._nonce = nonce
        self._incoming = Incoming(link, health)

    @property
    def mark(self) -> bytes:
        """The mark at the end of a stream that belongs to the last request."""
        return f"{self._nonce}:{self.number}".encode()

    @contextmanager
    def exchange(self, drain_s: float = DRAIN_S) -> Iterator[Incoming]:
        """Guard one request and its answer: a fault stays, any other interruption is recovered from.

        `drain_s` is the time that the rest of an interrupted answer may take.
        """
        if self.fault:
            raise self.fault
        try:
            yield self._incoming
        except EnvironmentLost as fault:
            if not isinstance(fault, DiskFull):
                self.fault = fault
                raise
            self._resynchronize(drain_s)
            raise
        except BaseException:
            if not self.fault:
                self._resynchronize(drain_s)
            raise

    def request(self, op: str, *numbers: int | str, payload: bytes = b"") -> None:
        """Send a request.

        Raises: EnvironmentLost.
        """
        self.number += 1
        self.send(" ".join([op, str(self.number), *map(str, numbers)]).ljust(96).encode("ascii"), payload)

    def send(self, *parts: bytes | memoryview) -> None:
        """Send bytes; an interruption in the middle of them is a fault.

        Raises: EnvironmentLost.
        """
        with held():  # half a request could not be taken back
            try:
                for part in parts:
                    self.link.send(part, IDLE_S)
            except (OSError, ValueError) as error:
                raise self._incoming.loss(error) from None
            except BaseException:
                self.fault = EnvironmentLost("the harness was interrupted in the middle of a request")
                raise

    def answer(self, until: float, tick: bytes = b"", *, guarded: bool = False) -> list[str]:
        """Return the fields of the next answer, without nonce and number.

        Raises: EnvironmentLost, and what the guard raises.
        """
        line = self._incoming.line(until, tick, guarded=guarded)
        fields = line.decode("ascii", "replace").split()
        if fields[:2] != [self._nonce, str(self.number)]:
            raise SupervisorLost(f"something else than the supervisor answered: {excerpts.beginning(repr(line), 200)}")
        return fields[2:]

    def stream(self, mark: bytes, until: float = 0) -> Iterator[bytes]:
        """Yield the bytes before `mark`. `until` is a fixed end; without it, there must be progress every `IDLE_S`.

        Raises: EnvironmentLost.
        """
        kept = b""
        while (at := kept.find(mark)) < 0:
            safe = max(0, len(kept) - len(mark) + 1)
            if safe:
                yield kept[:safe]
            kept = kept[safe:] + self._incoming.some(until or time.monotonic() + IDLE_S)
        if at:
            yield kept[:at]
        self._incoming.give_back(kept[at + len(mark) :])

    def _resynchronize(self, drain_s: float) -> None:
        """End a running action and read away what was not read."""
        try:
            if self.unanswered:
                self.send(b"c")
                until = time.monotonic() + CANCEL_S
                while (fields := self.answer(until, tick=b"c")) == ["go"]:
                    pass  # it was interrupted between the two answers to a turn
                self.unanswered = False
                self.late_answer = fields
            self.request("s")
            until = time.monotonic() + drain_s
            for _ in self.stream(f"{self._nonce} {self.number} synchronized\n".encode(), until):
                if time.monotonic() > until:
                    raise SupervisorLost("the harness was interrupted in the middle of a long answer")
        except EnvironmentLost as fault:
            self.fault = fault
