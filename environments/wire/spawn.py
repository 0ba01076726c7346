"""Starting and ending supervisors that are child processes of the harness, out of reach of its terminal's Ctrl-C.

For `--die-with-parent` and `--kill-child`, the parent is the *thread* that forked (prctl(2), PR_SET_PDEATHSIG). So one
thread, which lives as long as the process, forks all of them.
"""

from __future__ import annotations

import os
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from pathlib import Path
from queue import SimpleQueue

from environments.leftovers.owner import Owner
from environments.link import ProcessLink
from environments.wire.program import BOOT
from trajectories.interrupts import held
from trajectories.processes import boot_id, start_time

KILL_S = 2.0

Start = Callable[[], "subprocess.Popen[bytes]"]


class _Forker(threading.Thread):
    """A thread that forks for all others. It is a daemon thread, so that an interrupted process still ends."""

    def __init__(self) -> None:
        super().__init__(name="retrace-forker", daemon=True)
        self.pid = os.getpid()
        self.jobs: SimpleQueue[tuple[Start, Future[subprocess.Popen[bytes]]]] = SimpleQueue()
        self.start()

    def run(self) -> None:
        while True:
            start, process = self.jobs.get()
            try:
                process.set_result(start())
            except BaseException as error:
                process.set_exception(error)


_lock = threading.Lock()
_forker: _Forker | None = None


def _forked(start: Start) -> subprocess.Popen[bytes]:
    global _forker
    with held():
        with _lock:
            if _forker is None or _forker.pid != os.getpid():
                _forker = _Forker()
        process: Future[subprocess.Popen[bytes]] = Future()
        _forker.jobs.put((start, process))
        return process.result()


def spawn(prefix: Sequence[str], text_bytes: int, env: Mapping[str, str], pass_fds: Sequence[int] = ()) -> ProcessLink:
    """Start `prefix` in front of a supervisor's bash that will read `text_bytes` of program.

    Raises: OSError.
    """
    errors = tempfile.TemporaryFile()  # noqa: SIM115

    def fork() -> subprocess.Popen[bytes]:
        return subprocess.Popen(
            [*prefix, "bash", "-p", "-c", BOOT, "retrace", str(text_bytes)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=errors,
            env=dict(env),
            cwd="/",
            start_new_session=True,
            pass_fds=pass_fds,
        )

    return ProcessLink(_forked(fork), errors)


def first_process(link: ProcessLink) -> Owner | None:
    """Return the first process of the process namespace that a link's command has made, or None if there is none."""
    pid = link.process.pid
    try:
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    except OSError:
        return None
    start = start_time(int(children[0])) if len(children) == 1 else None
    return None if start is None else Owner(boot_id(), int(children[0]), start)


def end(link: ProcessLink, first: Owner | None = None) -> None:
    """Close a supervisor's input, which ends it and everything it started; otherwise kill it. Never raises.

    `first` is waited for: it is gone only when the kernel has ended all other processes of its namespace.
    """
    link.close()
    try:
        link.process.wait(KILL_S)
    except subprocess.TimeoutExpired:
        link.process.kill()
        link.process.wait()
    until = time.monotonic() + KILL_S
    while first is not None and start_time(first.pid) == first.start and time.monotonic() < until:
        time.sleep(0.001)
    link.ended()
