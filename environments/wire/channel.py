"""The harness's side of the frames: one request, one answer, each with a time limit.

Knows bytes, counts and caps; nothing of containers. `supervisor/10-environment.sh` describes the frames.
"""

from __future__ import annotations

import logging
import os
import secrets
import time
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import cast, get_args

from environments.link import Link
from environments.protocol import DiskFull, EnvironmentLost, EnvironmentUnavailable, Execution, SupervisorLost
from environments.wire import program
from environments.wire.answers import Ready as Ready, Told as Told
from environments.wire.capture import capture
from environments.wire.incoming import Incoming
from trajectories.interrupts import held
from trajectories.record.events import Ended

GRACE_S = 15.0
"""Beyond an action's own deadline the supervisor has so long to kill, collect and answer."""
CANCEL_S = 5.0
"""An interrupted action is ended within so long, or its environment counts as lost."""
DRAIN_S = 1.0
"""So long, what nobody wants any more is read away after an interruption."""
IDLE_S = 60.0
"""An output or an archive that does not move for so long is lost."""
UNPACK_S = 600.0
"""From the last byte of an archive to the answer."""
CLOCK_TICK_S = time.clock_getres(5)
"""Of CLOCK_REALTIME_COARSE, which files are stamped with (before Linux 6.13: all of them)."""
_READING = frozenset("lfhgs")
"""Operations that change nothing in the workspace."""

SHELL_LOST: Mapping[str, str] = {
    "ended": "the shell ended (exit, exec, `set -e` or a signal); a new one was started",
    "killed": "the command could not be stopped without its shell; a new one was started",
    "anew": "the shell had ended before this command, which ran in a new one",
}
"""What a supervisor's note on a turn means."""

_log = logging.getLogger(__name__)


class ShellGone(Exception):
    """A turn was not begun: nobody keeps the terminal of the persistent shell any more."""


class Channel:
    """One supervisor. After a fault every further request fails with the same one."""

    def __init__(self, trouble: Callable[[], str | None], guard: Callable[[], None] | None = None) -> None:
        """`trouble` says what is wrong with the environment, None if nothing is.

        `guard` is called now and then while an action runs; what it raises ends the action, not the channel.
        """
        self._trouble = trouble
        self._guard = guard
        self.span_s = (0.0, 0.0)
        """When the last action began and ended, by the clock of where it ran, since the epoch."""
        self._link: Link | None = None
        self._in: Incoming | None = None
        self._nonce = secrets.token_hex(16)
        self._seq = 0
        self._cpu_s = 0.0
        self._tick = b""
        self._unanswered = False
        self._lost_unsaid: str | None = None
        """What an interrupted turn would have said of the persistent shell; the next one says it."""
        self._not_before_s = 0.0
        self._fault: EnvironmentLost | None = EnvironmentLost("the environment was not started")

    def text(self, settings: dict[str, str]) -> bytes:
        """The supervisor's program, with what only this channel knows."""
        return program.text(settings | {"nonce": self._nonce})

    def send_text(self, link: Link, text: bytes) -> None:
        """Give the channel its link and the other end its program.

        Raises: EnvironmentLost.
        """
        self._link, self._in, self._fault = link, Incoming(link, self._trouble), None
        with self._remembered():
            self._send(text)

    def ready(self, deadline_s: float) -> Ready:
        """Wait for the supervisor's first answer.

        Raises: EnvironmentUnavailable, EnvironmentLost.
        """
        with self._remembered() as incoming:
            until = time.monotonic() + deadline_s
            fields = self._answer(until)
            text = incoming.take(int(fields[-1]), until).decode(errors="replace")
        if fields[0] != "ready":
            raise EnvironmentUnavailable(text)
        _, bash, user, uid, gid, dropped, counts_oom, peak, _ = fields
        if tuple(map(int, bash.partition("(")[0].split(".")[:2])) < (5, 2):
            self._tick = b"t"
        lost = tuple(text.splitlines())
        return Ready(bash, user, int(uid), int(gid), dropped != "0", lost, counts_oom == "1", peak == "1")

    def ask(self, op: str, within_s: float, payload: bytes = b"") -> list[str]:
        """A request that is answered by a line alone.

        Raises: EnvironmentLost.
        """
        with self._remembered():
            self._request(op, len(payload), payload=payload)
            return self._answer(time.monotonic() + within_s, self._tick)

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
        """Run a script. When it is interrupted from outside, the action is ended before that goes on.

        With `go` it is a turn of the persistent shell: that is called, with the turn's number, once all is ready.

        Raises: EnvironmentLost, ShellGone.
        """
        script = script.replace(b"\\", b"\\\\").replace(b"\0", b"\\0000")
        where, what = cwd.encode("utf-8", "surrogateescape"), exports.encode("utf-8", "surrogateescape")
        sizes = len(where), len(what), len(script)
        with self._remembered() as incoming:
            with held():  # a request that is made is known to be unanswered
                numbers = round(deadline_s * 100), cap, int(as_root), int(separate), *sizes
                self._request("x" if go else "r", *numbers, payload=where + what + script)
                self._unanswered, began = True, time.monotonic()
            if go:
                if self._answer(began + GRACE_S, self._tick) == ["gone"]:
                    self._unanswered = False
                    raise ShellGone
                go(self._seq)
            fields = self._answer(began + deadline_s + GRACE_S, self._tick, self._guard)
            self._unanswered = False
            took = time.monotonic() - began
            ended, status, signal, start, micros, user_s, system_s, peak, left, note = fields[:10]
            out_size, out_total, err_size, err_total = map(int, fields[10:])
            mark = f"{self._nonce}:{self._seq}".encode()
            output, counted = capture(incoming, mark, out_size, out_total, cap, IDLE_S)
            stderr, stderr_counted = capture(incoming, mark, err_size, err_total, cap, IDLE_S)
            if ended not in get_args(Ended):
                raise SupervisorLost(f"the supervisor's answer makes no sense: {' '.join(fields)}")
        if note == "made_room":
            _log.warning("background processes had used up all process ids, so they were ended before this action")
        own = ended in ("exited", "oom")
        duration_s = int(micros) / 1e6
        self.span_s = int(start) / 1e6, int(start) / 1e6 + duration_s
        lost = SHELL_LOST.get(note)
        if go:
            lost, self._lost_unsaid = lost or self._lost_unsaid, None
        return Execution(
            ended=cast(Ended, ended),
            output=output,
            counted=counted,
            duration_s=duration_s if 0 <= duration_s <= took else took,
            exit_code=int(status) if own and signal == "0" else None,
            signal=int(signal) if own and signal != "0" else None,
            stderr=stderr if separate else None,
            stderr_counted=stderr_counted,
            cpu_s=self._cpu_since(user_s, system_s),
            peak_memory_bytes=int(peak) or None,
            left_running=int(left),
            shell_lost=lost,
        )

    def put(self, archive: Iterable[bytes], directory: str, missing: list[bytes]) -> None:
        """Unpack a tar stream; only the bytes are moved, what is in it is the caller's to judge.

        Directories that turn up in `missing` before a chunk does are made for the task's user, unless they exist.

        Raises: EnvironmentLost, OSError with tar's last words.
        """
        where = directory.encode("utf-8", "surrogateescape")
        with self._remembered() as incoming:
            self._request("p", len(where), payload=where)
            try:
                for chunk in archive:
                    while missing:
                        path = missing.pop(0)
                        self._send(b"d%015d" % len(path) + path)
                    self._send(b"f%015d" % len(chunk), chunk)
            finally:
                if not self._fault:
                    self._send(b"f%015d" % 0)
                    until = time.monotonic() + UNPACK_S
                    status, size = self._answer(until)
                    said = incoming.take(int(size), until).decode(errors="replace").strip()
        if status != "0":
            raise OSError(said or f"tar ended with status {status}")

    def get(self, path: str, *, whole: bool) -> Generator[bytes, None, tuple[int, str]]:
        """A tar stream of `path`; `whole`: of what is in it, owned by 0:0. Returns tar's status and its words.

        Raises: EnvironmentLost, FileNotFoundError.
        """
        where = path.encode("utf-8", "surrogateescape")
        with self._remembered() as incoming:
            self._request("g", int(whole), len(where), payload=where)
            (kind,) = self._answer(time.monotonic() + IDLE_S)
            if kind != "missing":
                mark = f"{self._nonce}:{self._seq} ".encode()
                yield from self._until(mark, incoming)
                until = time.monotonic() + IDLE_S
                status, size = map(int, incoming.line(until).split())
                return status, incoming.take(size, until).decode(errors="surrogateescape")
        raise FileNotFoundError(path)

    def read(
        self, op: str, paths: Sequence[str] = (), *numbers: int | str, within_s: float = 0
    ) -> Generator[bytes, None, Told]:
        """The bytes that an operation of `supervisor/52-listing.sh` gives for these paths of the workspace.

        `within_s`: until the last of them, where they do not come steadily.

        Raises: EnvironmentLost.
        """
        names = b"".join(b"./" + os.fsencode(path) + b"\0" for path in paths)
        with self._remembered() as incoming:
            self._request(op, len(names), *numbers, payload=names)
            facts = self._answer(time.monotonic() + IDLE_S)
            mark = f"{self._nonce}:{self._seq} ".encode()
            yield from self._until(mark, incoming, within_s and time.monotonic() + within_s)
            until = time.monotonic() + IDLE_S
            status, user_s, system_s, size = incoming.line(until).decode("ascii", "replace").split()
            self._cpu_since(user_s, system_s)
            said = incoming.take(int(size), until).decode(errors="surrogateescape")
            if op == "l":
                self._not_before_s = time.monotonic() + CLOCK_TICK_S
        return Told(facts, int(status), said)

    def need_not_wait(self) -> None:
        """Nothing that the last listing saw has the time of the listing itself."""
        self._not_before_s = 0.0

    def close(self) -> None:
        """End it; the supervisor leaves and takes what it started with it."""
        self._fault = self._fault or EnvironmentLost("the environment was stopped")
        if self._link:
            self._link.close()

    # --- frames ------------------------------------------------------------------------------------

    @contextmanager
    def _remembered(self) -> Iterator[Incoming]:
        """A fault stays; any other interruption leaves a channel that can be used again."""
        if self._fault:
            raise self._fault
        assert self._in is not None
        try:
            yield self._in
        except EnvironmentLost as fault:
            if not isinstance(fault, DiskFull):
                self._fault = fault
                raise
            self._resynchronise(self._in)
            raise
        except BaseException:
            if not self._fault:
                self._resynchronise(self._in)
            raise

    def _request(self, op: str, *numbers: int | str, payload: bytes = b"") -> None:
        self._seq += 1
        if (
            self._not_before_s and op not in _READING
        ):  # what is changed now must not have the time that a listing just saw
            time.sleep(max(0.0, self._not_before_s - time.monotonic()))
            self._not_before_s = 0.0
        self._send(" ".join([op, str(self._seq), *map(str, numbers)]).ljust(96).encode("ascii"), payload)

    def _send(self, *parts: bytes | memoryview) -> None:
        assert self._link is not None
        assert self._in is not None
        with held():  # half a request could not be taken back
            try:
                for part in parts:
                    self._link.send(part, IDLE_S)
            except (OSError, ValueError) as error:
                raise self._in.why(error) from None
            except BaseException:
                self._fault = EnvironmentLost("the harness was interrupted in the middle of a request")
                raise

    def _answer(self, until: float, tick: bytes = b"", guard: Callable[[], None] | None = None) -> list[str]:
        """The fields of the next answer, without nonce and sequence number."""
        assert self._in is not None
        line = self._in.line(until, tick, guard)
        fields = line.decode("ascii", "replace").split()
        if fields[:2] != [self._nonce, str(self._seq)]:
            raise SupervisorLost(f"something else than the supervisor answered: {line[:200]!r}")
        return fields[2:]

    def _until(self, mark: bytes, incoming: Incoming, until: float = 0) -> Iterator[bytes]:
        held = b""
        while (at := held.find(mark)) < 0:
            safe = max(0, len(held) - len(mark) + 1)
            if safe:
                yield held[:safe]
            held = held[safe:] + incoming.some(until or time.monotonic() + IDLE_S)
        if at:
            yield held[:at]
        incoming.give_back(held[at + len(mark) :])

    def _resynchronise(self, incoming: Incoming) -> None:
        """End a running action and read away what was not read."""
        try:
            if self._unanswered:
                self._send(b"c")
                until = time.monotonic() + CANCEL_S
                while (fields := self._answer(until, tick=b"c")) == ["go"]:
                    pass  # it was interrupted between the two answers to a turn
                self._unanswered = False
                self._lost_unsaid = SHELL_LOST.get(fields[9]) if len(fields) > 9 else None
            self._request("s")
            until = time.monotonic() + DRAIN_S
            for _ in self._until(f"{self._nonce} {self._seq} synchronised\n".encode(), incoming, until):
                if time.monotonic() > until:
                    raise SupervisorLost("the harness was interrupted in the middle of a long answer")
        except EnvironmentLost as fault:
            self._fault = fault

    def _cpu_since(self, user_s: str, system_s: str) -> float | None:
        """Processor time since the last answer; `0m0.012s` each, as bash's `times` prints the sum."""
        if system_s == "-":
            return None
        total_s = 0.0
        for text in (user_s, system_s):
            minutes, _, seconds = text.rstrip("s").partition("m")
            total_s += int(minutes) * 60 + float(seconds)
        since_s, self._cpu_s = max(0.0, total_s - self._cpu_s), total_s
        return since_s
