"""Supervisors that are child processes of the harness: started out of reach of its terminal's Ctrl-C.

`--die-with-parent` and `--kill-child` mean the *thread* that forked (prctl(2), PR_SET_PDEATHSIG), so all of them
are forked by one thread that lives as long as the process.
"""

from __future__ import annotations

import os
import subprocess
import tempfile
import threading
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor

from environments.link import ProcessLink
from environments.program import BOOT

KILL_S = 2.0

_lock = threading.Lock()
_forker: tuple[int, ThreadPoolExecutor] | None = None


def _forking_thread() -> ThreadPoolExecutor:
    global _forker
    with _lock:
        if _forker is None or _forker[0] != os.getpid():
            _forker = os.getpid(), ThreadPoolExecutor(1, "retrace-forker")
        return _forker[1]


def spawn(prefix: Sequence[str], text_bytes: int, env: Mapping[str, str]) -> ProcessLink:
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
        )

    return ProcessLink(_forking_thread().submit(fork).result(), errors)


def end(link: ProcessLink) -> None:
    """Close its input, which ends a supervisor and all it started; kill what did not listen. Never raises."""
    link.close()
    try:
        link.process.wait(KILL_S)
    except subprocess.TimeoutExpired:
        link.process.kill()
        link.process.wait()
