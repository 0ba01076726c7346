"""Supervisors that are child processes of the harness: started out of reach of its terminal's Ctrl-C.

`--die-with-parent` and `--kill-child` mean the *thread* that forked (prctl(2), PR_SET_PDEATHSIG), so all of them
are forked by one thread that lives as long as the process.
"""

from __future__ import annotations

import os
import subprocess
import tempfile
import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from queue import SimpleQueue

from environments.link import ProcessLink
from environments.program import BOOT
from trajectories.interrupts import held

KILL_S = 2.0

Start = Callable[[], "subprocess.Popen[bytes]"]


class _Forker(threading.Thread):
    """Forks for everyone. A daemon, so that a process that was interrupted in here still ends."""

    def __init__(self) -> None:
        super().__init__(name="retrace-forker", daemon=True)
        self.pid = os.getpid()
        self.jobs: SimpleQueue[tuple[Start, Future[subprocess.Popen[bytes]]]] = SimpleQueue()
        self.start()

    def run(self) -> None:
        while True:
            start, done = self.jobs.get()
            try:
                done.set_result(start())
            except BaseException as error:
                done.set_exception(error)


_lock = threading.Lock()
_forker: _Forker | None = None


def _forked(start: Start) -> subprocess.Popen[bytes]:
    global _forker
    with held():
        with _lock:
            if _forker is None or _forker.pid != os.getpid():
                _forker = _Forker()
        done: Future[subprocess.Popen[bytes]] = Future()
        _forker.jobs.put((start, done))
        return done.result()


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


def end(link: ProcessLink) -> None:
    """Close its input, which ends a supervisor and all it started; kill what did not listen. Never raises."""
    link.close()
    try:
        link.process.wait(KILL_S)
    except subprocess.TimeoutExpired:
        link.process.kill()
        link.process.wait()
    link.ended()
