"""The processes below one process of this machine: holding them, checking that they are held, and letting them go.

Nobody can ignore SIGSTOP, but a process can arrange to get SIGCONT (a timer of its own may send it), so whoever relies
on held processes checks again afterwards.
"""

from __future__ import annotations

import os
import signal
import time
from contextlib import suppress
from dataclasses import dataclass, field

from environments.protocol import EnvironmentUnavailable
from trajectories.waiting import sleep

HOLD_S = 10.0
"""Seconds after which processes that still multiply, or do not stop, are an error."""
_LOOKS = 3
"""Looks in a row that have to be the same: a list of children is only reliable once all of them are stopped."""
_PENDING_S = 1.0
"""Seconds after which a process in a system call that cannot be cut short counts as held, because its stop is pending.

The parent of a vfork(2) is such a process: it would stop only after its child, which is held, has ended."""
_STOP_BIT = 1 << (signal.SIGSTOP - 1)
_HELD = "Tt"
_DEAD = "ZXx"


@dataclass(frozen=True)
class Process:
    """One process, with the start time that tells it from a later one with the same id."""

    pid: int
    start: int
    parent: int = field(compare=False)


def hold(first: int, among: list[Process]) -> None:
    """Stop every process below `first`, until nothing is new; add those that were not stopped before to `among`.

    Each is stopped after its parent, because a shell that waits with WUNTRACED would take a stopped child for one that
    the user suspended, and the keeper of a persistent shell ends such a child.

    Raises: EnvironmentUnavailable. Then those in `among` may be held.
    """
    held = set(among)
    until = time.monotonic() + HOLD_S
    pending = time.monotonic() + _PENDING_S
    before: set[Process] | None = None
    looks = 0
    while looks < _LOOKS:
        seen = below(first)
        moving = [process for process in seen if not is_held(process.pid, or_pending=time.monotonic() > pending)]
        not_yet = {process.pid for process in moving if not is_held(process.pid, or_pending=True)}
        for process in moving:
            if process.parent in not_yet:
                continue
            if process not in held:
                held.add(process)
                among.append(process)
            with suppress(OSError):
                os.kill(process.pid, signal.SIGSTOP)
        if moving and time.monotonic() > until:
            raise EnvironmentUnavailable(
                f"the sandbox cannot be paused: after {HOLD_S:g} s, {len(moving)} of {len(seen)} processes still ran"
            )
        looks = looks + 1 if not moving and set(seen) == before else 0
        before = set(seen)
        if moving:
            sleep(0.001)


def let_go(among: list[Process]) -> None:
    """Continue processes, children first, so that no shell sees a stopped child."""
    for process in reversed(among):
        if start_of(process.pid) == process.start:
            with suppress(OSError):
                os.kill(process.pid, signal.SIGCONT)
    among.clear()


def moving(first: int) -> list[int]:
    """Return the ids of processes below `first` that are not held."""
    return [process.pid for process in below(first) if not is_held(process.pid, or_pending=True)]


def below(first: int) -> list[Process]:
    """Return the processes that descend from `first`, parents before children."""
    processes: list[Process] = []
    queue = [(first, 0)]
    for pid, parent in queue:
        for thread in _threads(pid):
            with suppress(OSError, ValueError), open(f"/proc/{pid}/task/{thread}/children") as file:
                queue += [(int(child), pid) for child in file.read().split()]
        if pid != first and (start := start_of(pid)) is not None:
            processes.append(Process(pid, start, parent))
    return processes


def is_held(pid: int, *, or_pending: bool) -> bool:
    """Return whether no thread of a process runs. Its main thread may have ended before the others."""
    return all(_is_still(pid, thread, or_pending=or_pending) for thread in _threads(pid))


def _is_still(pid: int, thread: str, *, or_pending: bool) -> bool:
    try:
        with open(f"/proc/{pid}/task/{thread}/stat", "rb") as file:
            state = chr(file.read().rpartition(b") ")[2][0])
    except (OSError, IndexError):
        return True  # it has ended
    if state in _HELD or state in _DEAD:
        return True
    return or_pending and state == "D" and _has_stop_pending(pid, thread)


def _has_stop_pending(pid: int, thread: str) -> bool:
    with suppress(OSError, ValueError), open(f"/proc/{pid}/task/{thread}/status") as file:
        return any(int(line.split()[1], 16) & _STOP_BIT for line in file if line.startswith(("ShdPnd:", "SigPnd:")))
    return True


def _threads(pid: int) -> list[str]:
    try:
        return os.listdir(f"/proc/{pid}/task")
    except OSError:
        return []


def start_of(pid: int) -> int | None:
    """Return the start time of a process in clock ticks since boot, or None if there is no such process."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            return int(file.read().rpartition(b") ")[2].split()[19])
    except (OSError, IndexError, ValueError):
        return None
