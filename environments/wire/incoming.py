"""The bytes that arrive from a supervisor: by line, by count, or as they come, always with a time limit.

While nothing arrives, the environment is examined, so that its loss is noticed within seconds.
"""

from __future__ import annotations

import time

from environments.link import Link
from environments.protocol import EnvironmentLost, SupervisorLost
from environments.wire.health import Health
from trajectories.writing import excerpts

PROBE_S = 4.0
"""Seconds between two looks at the environment while an answer is awaited."""
ENDS_S = 0.5
"""Seconds for which an environment may still seem to run after its stream has ended."""
GUARD_S = 0.5
"""Seconds between two looks at the disk while an answer is awaited; each is one statvfs and takes microseconds."""
TICK_S = 0.1
"""Seconds between two bytes to a supervisor that needs them; see `supervisor/10-environment.sh`."""

_BUFFER_BYTES = 1 << 16


class Incoming:
    """A buffered stream. Every method raises EnvironmentLost, with the reason for which nothing (more) comes."""

    def __init__(self, link: Link, health: Health) -> None:
        self._link = link
        self._health = health
        self._buffer = memoryview(bytearray(_BUFFER_BYTES))
        self._start = self._end = 0

    def line(self, until: float, tick: bytes = b"", *, guarded: bool = False) -> bytes:
        """Return the next line with its end. Meanwhile send `tick` and, if it is `guarded`, call the guard."""
        line = b""
        while not line.endswith(b"\n"):
            if self._start == self._end:
                self._more(until, tick, guarded=guarded)
            piece = bytes(self._buffer[self._start : self._end])
            piece = piece[: piece.find(b"\n") + 1] or piece
            self._start += len(piece)
            line += piece
        return line

    def some(self, until: float) -> bytes:
        """Return whatever comes next."""
        if self._start == self._end:
            self._more(until)
        piece = bytes(self._buffer[self._start : self._end])
        self._start = self._end
        return piece

    def take(self, size: int, until: float) -> bytes:
        """Return exactly so many bytes."""
        data = bytearray(size)
        self.fill(memoryview(data), until)
        return bytes(data)

    def fill(self, view: memoryview, until: float) -> None:
        """Fill the view completely."""
        held = min(self._end - self._start, len(view))
        view[:held] = self._buffer[self._start : self._start + held]
        self._start += held
        while held < len(view):
            held += self._receive(view[held:], until)

    def give_back(self, rest: bytes) -> None:
        """Put back the end of what `some` returned, to be read again."""
        self._start -= len(rest)

    def loss(self, error: Exception | None = None) -> EnvironmentLost:
        """Return the reason for silence, as far as it can be determined."""
        until = time.monotonic() + ENDS_S
        while not (trouble := self._health.trouble()) and time.monotonic() < until:
            time.sleep(0.02)
        kind = type(trouble) if trouble else EnvironmentLost
        return kind(f"{trouble or error or 'the environment ended'}{self._last_words()}")

    def _more(self, until: float, tick: bytes = b"", *, guarded: bool = False) -> None:
        self._start = self._end = 0
        self._end = self._receive(self._buffer, until, tick, guarded=guarded)

    def _receive(self, view: memoryview, until: float, tick: bytes = b"", *, guarded: bool = False) -> int:
        looked = checked = time.monotonic()
        while True:
            wait_s = min(until - time.monotonic(), TICK_S if tick else GUARD_S if guarded else PROBE_S)
            try:
                count = self._link.receive(view, max(0.0, wait_s))
            except TimeoutError:
                pass
            except (OSError, ValueError) as error:
                raise self.loss(error) from None
            else:
                if not count:
                    raise self.loss()
                return count
            now = time.monotonic()
            if guarded and now - checked >= GUARD_S - TICK_S:
                checked = now
                self._health.guard()
            if now - looked >= PROBE_S - GUARD_S:
                looked = now
                trouble = self._health.trouble()
                if trouble:
                    raise trouble
            if now >= until:
                raise SupervisorLost(f"the supervisor did not answer in time{self._last_words()}")
            if tick:
                try:
                    self._link.send(tick, PROBE_S)
                except (OSError, ValueError) as error:
                    raise self.loss(error) from None

    def _last_words(self) -> str:
        words = self._link.diagnostics()
        return f" (it said: {excerpts.ending(words, 500)})" if words else ""
