"""The harness's side of the frames: one request, one answer, each with a time limit.

Knows bytes, counts and caps; nothing of containers. `supervisor/10-environment.sh` describes the frames.
"""

from __future__ import annotations

import io
import re
import secrets
import time
from collections.abc import Callable, Generator, Iterable
from dataclasses import dataclass
from typing import NoReturn, cast, get_args

from environments import program
from environments.link import Link
from environments.protocol import EnvironmentLost, EnvironmentUnavailable, Execution, SupervisorLost
from trajectories.events import Ended

GRACE_S = 15.0
"""Beyond an action's own deadline the supervisor has so long to kill, collect and answer."""
PROBE_S = 4.0
"""While an answer is awaited, the environment is looked at this often."""
IDLE_S = 60.0
"""An archive that does not move for so long is lost."""
CHUNK_BYTES = 8 << 20

_BUFFER_BYTES = 1 << 16


@dataclass(frozen=True)
class Ready:
    """What the supervisor found when it started."""

    bash: str
    uid: int
    gid: int
    dropped: bool
    """Whether actions run as another user than the supervisor."""
    lost: tuple[str, ...]


class Channel:
    """One supervisor. After a fault every further request fails with the same one."""

    def __init__(self, probe: Callable[[], str | None]) -> None:
        self._link: Link | None = None
        self._probe = probe
        self._nonce = secrets.token_hex(16)
        self._seq = 0
        self._cpu_s = 0.0
        self._buffer = memoryview(bytearray(_BUFFER_BYTES))
        self._start = self._end = 0
        self._fault: EnvironmentLost | None = None

    # --- requests ----------------------------------------------------------------------------------

    def text(self, settings: dict[str, str]) -> bytes:
        """The supervisor's program, with what only this channel knows."""
        return program.text(settings | {"nonce": self._nonce})

    def send_text(self, link: Link, text: bytes) -> None:
        """Give the channel its link and the other end its program.

        Raises: EnvironmentLost.
        """
        self._link = link
        self._send(text)

    def ready(self, deadline_s: float) -> Ready:
        """Wait for the supervisor's first answer.

        Raises: EnvironmentUnavailable, EnvironmentLost.
        """
        until = time.monotonic() + deadline_s
        fields = self._answer(until)
        text = self._take(int(fields[-1]), until).decode(errors="replace")
        if fields[0] != "ready":
            raise EnvironmentUnavailable(text)
        _, bash, uid, gid, dropped, _ = fields
        return Ready(bash, int(uid), int(gid), dropped != "0", tuple(text.splitlines()))

    def run(
        self, script: bytes, *, cwd: str, exports: str, deadline_s: float, cap: int, as_root: bool, separate: bool
    ) -> Execution:
        """Run a script. When it is interrupted from outside, the action is ended before that goes on.

        Raises: EnvironmentLost.
        """
        script = script.replace(b"\\", b"\\\\").replace(b"\0", b"\\0000")
        where, what = cwd.encode("utf-8", "surrogateescape"), exports.encode("utf-8", "surrogateescape")
        sizes = len(where), len(what), len(script)
        try:
            self._request("r", round(deadline_s * 100), cap, int(as_root), int(separate), *sizes)
            began = time.monotonic()
            self._send(where + what + script)
            fields = self._answer(began + deadline_s + GRACE_S)
            took = time.monotonic() - began
            ended, status, signal, micros, user_s, system_s, left, _ = fields[:8]
            out_size, out_total, err_size, err_total = map(int, fields[8:])
            until = time.monotonic() + IDLE_S
            output, counted = self._output(out_size, out_total, cap, until)
            stderr, stderr_counted = self._output(err_size, err_total, cap, until)
        except EnvironmentLost:
            raise
        except BaseException:
            self._resynchronise()
            raise
        if ended not in get_args(Ended):
            self._lose(SupervisorLost(f"the supervisor's answer makes no sense: {' '.join(fields)}"))
        cpu_s = _seconds(user_s) + _seconds(system_s)
        cpu_s, self._cpu_s = cpu_s - self._cpu_s, cpu_s
        own = ended in ("exited", "oom")
        duration_s = int(micros) / 1e6
        return Execution(
            ended=cast(Ended, ended),
            output=output,
            counted=counted,
            duration_s=duration_s if 0 <= duration_s <= took else took,
            exit_code=int(status) if own and signal == "0" else None,
            signal=int(signal) if own and signal != "0" else None,
            stderr=stderr if separate else None,
            stderr_counted=stderr_counted,
            cpu_s=max(0.0, cpu_s),
            left_running=int(left),
        )

    def put(self, archive: Iterable[bytes], directory: str) -> None:
        """Unpack a tar stream; only the bytes are moved, what is in it is the caller's to judge.

        Raises: EnvironmentLost, OSError with tar's last words.
        """
        where = directory.encode("utf-8", "surrogateescape")
        self._request("p", len(where))
        self._send(where)
        try:
            for chunk in archive:
                for start in range(0, len(chunk), CHUNK_BYTES):
                    piece = memoryview(chunk)[start : start + CHUNK_BYTES]
                    self._send(b"%016d" % len(piece))
                    self._send(piece)
        finally:
            self._send(b"%016d" % 0)
            until = time.monotonic() + IDLE_S * 10
            status, size = self._answer(until)
            said = self._take(int(size), until).decode(errors="replace").strip()
        if status != "0":
            raise OSError(said or f"tar ended with status {status}")

    def get(self, path: str, *, whole: bool) -> Generator[bytes, None, tuple[int, str]]:
        """A tar stream of `path`; `whole`: of what is in it, owned by 0:0. Returns (tar's status, its words).

        Raises: EnvironmentLost, FileNotFoundError.
        """
        where = path.encode("utf-8", "surrogateescape")
        self._request("g", int(whole), len(where))
        self._send(where)
        (kind,) = self._answer(time.monotonic() + IDLE_S)
        if kind == "missing":
            raise FileNotFoundError(path)
        mark = f"{self._nonce}:{self._seq} ".encode()
        held = b""
        try:
            while (at := held.find(mark)) < 0:
                safe = max(0, len(held) - len(mark) + 1)
                if safe:
                    yield held[:safe]
                held = held[safe:] + self._some(time.monotonic() + IDLE_S)
            if at:
                yield held[:at]
            return self._trailer(held[at + len(mark) :])
        except EnvironmentLost:
            raise
        except BaseException:
            self._resynchronise()
            raise

    def close(self) -> None:
        """End it; the supervisor leaves and takes what it started with it."""
        self._fault = self._fault or EnvironmentLost("the environment was stopped")
        if self._link:
            self._link.close()

    def _opened(self) -> Link:
        if self._link is None:
            raise EnvironmentLost("the environment was not started")
        return self._link

    # --- frames ------------------------------------------------------------------------------------

    def _request(self, op: str, *numbers: int) -> None:
        if self._fault:
            raise self._fault
        self._seq += 1
        self._send(" ".join([op, str(self._seq), *map(str, numbers)]).ljust(96).encode("ascii"))

    def _send(self, data: bytes | memoryview) -> None:
        try:
            self._opened().send(data, IDLE_S)
        except (OSError, ValueError) as error:
            self._lose(self._why(error))

    def _answer(self, until: float) -> list[str]:
        """The fields of the next answer, without nonce and sequence number."""
        line = b""
        while b"\n" not in line:
            line += self._some(until, whole_line=True)
        fields = line.decode("ascii", "replace").split()
        if fields[:2] != [self._nonce, str(self._seq)]:
            self._lose(SupervisorLost(f"something else than the supervisor answered: {line[:200]!r}"))
        return fields[2:]

    def _output(self, size: int, total: int, cap: int, until: float) -> tuple[bytes, int]:
        """An output up to its mark. BytesIO is filled in place and handed over, never copied."""
        if not size:
            return b"", total
        whole = io.BytesIO()
        whole.seek(size - 1)
        whole.write(b"\0")
        with whole.getbuffer() as view:
            self._fill(view, until)
            mark = re.compile(re.escape(f"{self._nonce}:{self._seq}".encode()))
            found = mark.search(view, max(0, size - 4096)) or mark.search(view)
        if found:
            size = total = found.start()
        del found
        whole.truncate(min(size, cap))
        return whole.getvalue(), max(size, total)

    def _take(self, size: int, until: float) -> bytes:
        data = bytearray(size)
        self._fill(memoryview(data), until)
        return bytes(data)

    def _fill(self, view: memoryview, until: float) -> None:
        held = min(self._end - self._start, len(view))
        view[:held] = self._buffer[self._start : self._start + held]
        self._start += held
        while held < len(view):
            held += self._receive(view[held:], until)

    def _some(self, until: float, *, whole_line: bool = False) -> bytes:
        """What is buffered, else what comes next; with `whole_line` no more than the first line."""
        if self._start == self._end:
            self._start, self._end = 0, self._receive(self._buffer, until)
        piece = bytes(self._buffer[self._start : self._end])
        if whole_line:
            piece = piece[: piece.find(b"\n") + 1] or piece
        self._start += len(piece)
        return piece

    def _trailer(self, line: bytes) -> tuple[int, str]:
        """Behind an archive's mark: `STATUS BYTES`, and tar's words."""
        until = time.monotonic() + IDLE_S
        while b"\n" not in line:
            line += self._some(until)
        head, _, said = line.partition(b"\n")
        status, size = map(int, head.split())
        if len(said) > size:
            self._lose(SupervisorLost("bytes behind an archive's end"))
        said += self._take(size - len(said), until)
        return status, said.decode(errors="surrogateescape")

    def _receive(self, view: memoryview, until: float) -> int:
        while True:
            left = until - time.monotonic()
            try:
                count = self._opened().receive(view, max(0.0, min(left, PROBE_S)))
            except TimeoutError:
                trouble = self._probe()
                if trouble:
                    self._lose(EnvironmentLost(trouble))
                if left <= 0:
                    self._lose(SupervisorLost(f"the supervisor did not answer in time{self._said()}"))
            except (OSError, ValueError) as error:
                self._lose(self._why(error))
            else:
                if not count:
                    self._lose(self._why(None))
                return count

    def _resynchronise(self) -> None:
        """After an interruption: end a running action and read away what was not read."""
        try:
            self._send(b"c")
            self._request("s")
            held, end = b"", f"{self._nonce} {self._seq} synchronised\n".encode()
            while (at := held.find(end)) < 0:
                held = held[-len(end) :] + self._some(time.monotonic() + GRACE_S)
            if held[at + len(end) :]:
                self._lose(SupervisorLost("an answer to no question"))
        except EnvironmentLost:
            pass

    def _why(self, error: Exception | None) -> EnvironmentLost:
        trouble = self._probe()
        return EnvironmentLost(f"{trouble or error or 'the environment ended'}{self._said()}")

    def _said(self) -> str:
        words = self._link.diagnostics() if self._link else ""
        return f" (it said: {words[-500:]})" if words else ""

    def _lose(self, fault: EnvironmentLost) -> NoReturn:
        self._fault = fault
        raise fault


def _seconds(text: str) -> float:
    """`0m0.012s`, as bash's `times` prints it."""
    minutes, _, seconds = text.rstrip("s").partition("m")
    return int(minutes) * 60 + float(seconds)
