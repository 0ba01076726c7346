"""The operations of a supervisor, as the harness calls them: each is one request and one answer with a time limit.

The channel knows bytes, counts and caps, but nothing about containers.
"""

from __future__ import annotations

import logging
import os
import secrets
import time
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence

from environments.link import Link
from environments.protocol import EnvironmentLost, EnvironmentUnavailable, Execution
from environments.wire import program
from environments.wire.answers import ActionEnd, Ready as Ready, StreamEnd as StreamEnd, cpu_total, note_of
from environments.wire.capture import capture
from environments.wire.frames import DRAIN_S, IDLE_S, Frames
from environments.wire.health import Health
from trajectories.interrupts import held

GRACE_S = 15.0
"""Seconds beyond an action's own deadline that the supervisor has to kill, collect and answer."""
UNPACK_S = 600.0
"""Seconds from the last byte of an archive to the answer."""
CLOCK_TICK_S = time.clock_getres(5)
"""Resolution of CLOCK_REALTIME_COARSE, which files are stamped with (before Linux 6.13: all of them)."""
_READING = frozenset("lfhg")
"""Operations that change nothing in the workspace."""

SHELL_LOST: Mapping[str, str] = {
    "ended": "the shell ended (exit, exec, `set -e` or a signal); a new one was started",
    "killed": "the command could not be stopped without its shell; a new one was started",
    "anew": "the shell had ended before this command, which ran in a new one",
}
"""Meanings of the supervisor's notes on the persistent shell."""

_log = logging.getLogger(__name__)


class ShellGone(Exception):
    """A turn was not begun, because nobody keeps the terminal of the persistent shell anymore."""


class Channel:
    """One supervisor. After a fault every further request fails with the same error."""

    def __init__(self, health: Health) -> None:
        self._health = health
        self.span_s = (0.0, 0.0)
        """Begin and end of the last action since the epoch, by the clock of the place where it ran."""
        self._frames: Frames | None = None
        self._closed = False
        self._nonce = secrets.token_hex(16)
        self._cpu_total_s = 0.0
        self._not_before_s = 0.0
        """Monotonic time before which nothing in the workspace may be changed."""

    def text(self, settings: dict[str, str]) -> bytes:
        """Return the supervisor's program, with the secret that only this channel knows."""
        return program.text(settings | {"nonce": self._nonce})

    def send_text(self, link: Link, text: bytes) -> None:
        """Connect the channel to its link and send the program to the other end.

        Raises: EnvironmentLost.
        """
        self._frames = frames = Frames(link, self._nonce, self._health)
        with frames.exchange():
            frames.send(text)

    def ready(self, deadline_s: float) -> Ready:
        """Wait for the supervisor's first answer.

        Raises: EnvironmentUnavailable, EnvironmentLost.
        """
        frames = self._open()
        with frames.exchange() as incoming:
            until = time.monotonic() + deadline_s
            fields = frames.answer(until)
            text = incoming.take(int(fields[-1]), until).decode(errors="replace")
        if fields[0] != "ready":
            raise EnvironmentUnavailable(text)
        ready = Ready.parse(fields, text)
        frames.tick = b"t" if ready.misses_alarms else b""
        return ready

    def ask(self, op: str, within_s: float, payload: bytes = b"") -> list[str]:
        """Send a request whose answer is a single line; return the fields of the line.

        Raises: EnvironmentLost.
        """
        frames = self._open()
        with frames.exchange():
            self._request(op, len(payload), payload=payload)
            return frames.answer(time.monotonic() + within_s, frames.tick)

    def run(
        self,
        script: bytes,
        *,
        cwd: str = "",
        exports: str = "",
        deadline_s: float,
        cap: int,
        as_root: bool = False,
        separate: bool = False,
        go: Callable[[int], None] | None = None,
    ) -> Execution:
        """Run a script. If it is interrupted from outside, the action is ended before the interruption propagates.

        With `go`, the script is a turn of the persistent shell, and `go` is called with the turn's number once
        everything is ready.

        Raises: EnvironmentLost, ShellGone.
        """
        script = script.replace(b"\0", b"").replace(b"\\", b"\\\\")  # bash ignores NUL in a script
        directory, variables = cwd.encode("utf-8", "surrogateescape"), exports.encode("utf-8", "surrogateescape")
        sizes = len(directory), len(variables), len(script)
        frames = self._open()
        with frames.exchange() as incoming:
            with held():  # a request that is made is known to be unanswered
                numbers = round(deadline_s * 100), cap, int(as_root), int(separate), *sizes
                self._request("x" if go else "r", *numbers, payload=directory + variables + script)
                frames.unanswered, began = True, time.monotonic()
            if go:
                if frames.answer(began + GRACE_S, frames.tick) == ["gone"]:
                    frames.unanswered = False
                    raise ShellGone
                go(frames.number)
            fields = frames.answer(began + deadline_s + GRACE_S, frames.tick, guarded=True)
            frames.unanswered = False
            took = time.monotonic() - began
            end = ActionEnd.parse(fields)
            output, counted = capture(incoming, end.output_size, end.output_total, cap, IDLE_S)
            stderr, stderr_counted = capture(incoming, end.stderr_size, end.stderr_total, cap, IDLE_S)
        if end.note == "made_room":
            _log.warning("background processes had used up all process ids, so they were ended")
        duration_s = end.duration_us / 1e6
        self.span_s = end.began_us / 1e6, end.began_us / 1e6 + duration_s
        shell_lost = SHELL_LOST.get(end.note)
        if go:
            # An interrupted turn has no result, so the next one reports that the shell was lost.
            shell_lost = shell_lost or SHELL_LOST.get(note_of(frames.late_answer))
            frames.late_answer = []
        return Execution(
            ended=end.ended,
            output=output,
            counted=counted,
            duration_s=duration_s if 0 <= duration_s <= took else took,
            exit_code=end.status if end.exited and not end.signal else None,
            signal=end.signal or None if end.exited else None,
            stderr=stderr if separate else None,
            stderr_counted=stderr_counted,
            cpu_s=self._cpu_since(end.cpu_total_s),
            peak_memory_bytes=end.peak_memory_bytes or None,
            left_running=end.left_running,
            left_pids=end.left_pids,
            shell_lost=shell_lost,
        )

    def put(self, archive: Iterable[bytes], directory: str, missing: list[bytes], *, as_root: bool = False) -> None:
        """Unpack a tar stream. Only its bytes are moved; judging its content is up to the caller.

        Directories that appear in `missing` before a chunk does are made for the task's user (`as_root`: for root),
        unless they exist.

        Raises: EnvironmentLost, OSError with the last lines that tar printed.
        """
        target = directory.encode("utf-8", "surrogateescape")
        frames = self._open()
        with frames.exchange() as incoming:
            self._request("p", len(target), int(as_root), payload=target)
            try:
                for chunk in archive:
                    while missing:
                        path = missing.pop(0)
                        frames.send(b"d%015d" % len(path) + path)
                    frames.send(b"f%015d" % len(chunk), chunk)
            finally:
                if not frames.fault:
                    frames.send(b"e%015d" % 0)
                    until = time.monotonic() + UNPACK_S
                    status, size = frames.answer(until)
                    complaints = incoming.take(int(size), until).decode(errors="replace").strip()
        if status != "0":
            raise OSError(complaints or f"tar ended with status {status}")

    def get(self, path: str, *, whole: bool, ending: bool = True) -> Generator[bytes, None, tuple[int, str]]:
        """Yield a tar stream of `path`, and return tar's status and standard error.

        With `whole` the stream has the content of that directory, owned by 0:0; what actions left running is ended
        first unless `ending` is false.

        Raises: EnvironmentLost, FileNotFoundError.
        """
        source = path.encode("utf-8", "surrogateescape")
        frames = self._open()
        with frames.exchange() as incoming:
            self._request("g", int(whole), int(ending), len(source), payload=source)
            (kind,) = frames.answer(time.monotonic() + IDLE_S)
            if kind != "missing":
                yield from frames.stream(frames.mark + b" ")
                until = time.monotonic() + IDLE_S
                status, size = map(int, incoming.line(until).split())
                return status, incoming.take(size, until).decode(errors="surrogateescape")
        raise FileNotFoundError(path)

    def read(
        self, op: str, paths: Sequence[str] = (), *numbers: int | str, within_s: float = 0
    ) -> Generator[bytes, None, StreamEnd]:
        """Yield the bytes that an operation of `supervisor/52-listing.sh` gives for these paths of the workspace.

        `within_s` limits the whole stream, for operations whose bytes do not come steadily. An interruption waits for
        the end of such an operation, because nothing can cut it short.

        Raises: EnvironmentLost.
        """
        names = b"".join(b"./" + os.fsencode(path) + b"\0" for path in paths)
        frames = self._open()
        with frames.exchange(max(DRAIN_S, within_s)) as incoming:
            self._request(op, len(names), *numbers, payload=names)
            facts = frames.answer(time.monotonic() + IDLE_S)
            yield from frames.stream(frames.mark + b" ", within_s and time.monotonic() + within_s)
            until = time.monotonic() + IDLE_S
            status, user_s, system_s, size = incoming.line(until).decode("ascii", "replace").split()
            self._cpu_since(cpu_total(user_s, system_s))
            complaints = incoming.take(int(size), until).decode(errors="surrogateescape")
            if op == "l":
                self._not_before_s = time.monotonic() + CLOCK_TICK_S
        return StreamEnd(tuple(facts), int(status), complaints)

    def need_not_wait(self) -> None:
        """Allow the next change at once: no file has the time at which the last listing was made."""
        self._not_before_s = 0.0

    def close(self) -> None:
        """Close the link; the supervisor leaves and ends everything it started."""
        self._closed = True
        if self._frames:
            self._frames.fault = self._frames.fault or _stopped()
            self._frames.link.close()

    def _open(self) -> Frames:
        if self._frames is None:
            raise _stopped() if self._closed else EnvironmentLost("the environment was not started")
        return self._frames

    def _request(self, op: str, *numbers: int | str, payload: bytes = b"") -> None:
        if self._not_before_s and op not in _READING:
            # A change must not get the time that the last listing has just seen.
            time.sleep(max(0.0, self._not_before_s - time.monotonic()))
            self._not_before_s = 0.0
        self._open().request(op, *numbers, payload=payload)

    def _cpu_since(self, total_s: float | None) -> float | None:
        """Return the processor time since the last answer that reported one."""
        if total_s is None:
            return None
        since_s, self._cpu_total_s = max(0.0, total_s - self._cpu_total_s), total_s
        return since_s


def _stopped() -> EnvironmentLost:
    return EnvironmentLost("the environment was stopped")
