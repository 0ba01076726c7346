"""The processes of a sandbox as its host sees them: all that have its process namespace.

A process group or a session would miss what called setsid(2).
"""

from __future__ import annotations

import os
import signal
from contextlib import suppress
from pathlib import Path

from environments.leftovers.owner import Owner
from environments.protocol import EnvironmentLost
from trajectories.processes import start_time


def stop_all(first: Owner) -> frozenset[int]:
    """Stop all processes of the namespace whose first process is given; return those that ran.

    A process may make another one until it is stopped itself, so they are listed until there is no new one.

    Raises: EnvironmentLost if the namespace has ended.
    """
    stopped: set[int] = set()
    namespace = _namespace(first.pid)
    if namespace is None or start_time(first.pid) != first.start:
        raise EnvironmentLost("the sandbox has ended")
    ran: set[int] = set()
    while new := _members(namespace) - stopped:
        for pid in new:
            if not _stands_still(pid):
                ran.add(pid)
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGSTOP)
        stopped |= new
    return frozenset(ran)


def continue_all(first: Owner, pids: frozenset[int]) -> None:
    """Let processes run again that `stop_all` stopped.

    Raises: EnvironmentLost if the namespace has ended meanwhile.
    """
    namespace = _namespace(first.pid)
    if namespace is None or start_time(first.pid) != first.start:
        raise EnvironmentLost("the sandbox ended while it was paused")
    for pid in pids & _members(namespace):
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGCONT)


def _members(namespace: int) -> set[int]:
    pids = (int(name) for name in os.listdir("/proc") if name.isdigit())
    return {pid for pid in pids if _namespace(pid) == namespace}


def _namespace(pid: int) -> int | None:
    try:
        return os.stat(f"/proc/{pid}/ns/pid").st_ino
    except OSError:
        return None


def _stands_still(pid: int) -> bool:
    """Report if a process was stopped before, for example by one of its own."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "T"
    except (OSError, IndexError):
        return False
