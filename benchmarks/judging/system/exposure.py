"""Lines for a verdict about what an agent left, and could have tampered with, in the container that is judged.

The daemon lists processes and files as the host sees them, so no program of the container is asked.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from benchmarks.judging.system import programs
from benchmarks.task.submission import Live
from environments.docker import daemon
from environments.protocol import EnvironmentFault, Started
from trajectories.waiting import Event
from trajectories.writing import excerpts

if TYPE_CHECKING:
    from docker import APIClient

Lines = Callable[[], tuple[str, ...]]
"""Lines for a verdict, which may still be looked up; the call waits for them."""
_MOST = 10
"""Number of processes that are listed one by one."""
_COMMAND_CHARACTERS = 120
ROOT = ("root", "0")
_OWN = "/cat"
"""End of the name of the supervisor's own helpers, which have no arguments."""


def of_live(submission: Live) -> Lines:
    """Return the lines about an environment in which the agent worked, once they are asked for."""
    changed = submission.changed or changed_system(submission.started)
    left = _listed(_processes, submission.started.container or "", "what the agent left running")
    return lambda: (*changed(), *left)


def changed_system(started: Started) -> Lines:
    """Begin to compare a container with its image, which takes the daemon half a second; return its lines at the end.

    An agent that is an ordinary user can change nothing there.
    """
    if (started.user or "root").partition(":")[0] not in ROOT:
        return tuple
    look = partial(programs.changes, workdir=started.workdir)
    lines: list[str] = []

    ended = Event()

    def compare() -> None:
        try:
            lines.extend(_listed(look, started.container or "", "what the agent changed in the system"))
        finally:
            ended.set()

    threading.Thread(target=compare, daemon=True).start()

    def compared() -> tuple[str, ...]:
        ended.wait()
        return tuple(lines)

    return compared


def _listed(look: Callable[[APIClient, str], tuple[str, ...]], container: str, subject: str) -> tuple[str, ...]:
    try:
        api = daemon.connect()
        try:
            return look(api, container)
        finally:
            api.close()
    except EnvironmentFault as error:  # nothing is hidden by that: the verdict tells it
        return (f"{subject} is not listed: {error}",)


def _processes(api: APIClient, container: str) -> tuple[str, ...]:
    """Return a line for each process that the agent left running.

    Raises: EnvironmentUnavailable.
    """
    with daemon.reported("listing the processes that the agent left running"):
        supervisor = str(api.inspect_container(container)["State"]["Pid"])
        rows = api.top(container, "-eo pid,ppid,uid,stat,args")["Processes"] or []
    left = [(row[2], " ".join(row[4:])) for row in rows if row[0] != supervisor and not _is_ours(row, supervisor)]
    listed = [
        f"a process of user {user} ran beside the tests: {excerpts.beginning(command, _COMMAND_CHARACTERS)}"
        for user, command in left[:_MOST]
    ]
    more = [f"{len(left) - _MOST} more processes ran beside the tests"] if len(left) > _MOST else []
    return (*listed, *more)


def _is_ours(row: list[str], supervisor: str) -> bool:
    """Return True for a helper of the supervisor, and for a process that has ended."""
    _, parent, user, state, *command = row
    return state.startswith("Z") or (parent == supervisor and user == "0" and command[-1].endswith(_OWN))
