"""What an agent that may still act in the judged container could tamper with, one line each for the verdict.

The daemon lists the processes, as the host sees them, so no program of the container is asked.
"""

from __future__ import annotations

from benchmarks.task.submission import Live
from environments.docker import daemon
from environments.protocol import EnvironmentFault
from trajectories.writing import excerpts

_MOST = 10
"""Number of processes that are listed one by one."""
_COMMAND_CHARACTERS = 120
ROOT = ("root", "0")
_OWN = "/cat"
"""End of the name of the supervisor's own helpers, which have no arguments."""


def of_live(submission: Live) -> tuple[str, ...]:
    """Return the lines about an environment in which the agent worked."""
    lines = _of_processes(submission.started.container or "")
    if submission.started.user in ROOT:
        return ("the agent was root, so it could have changed every program that the tests use", *lines)
    return lines


def _of_processes(container: str) -> tuple[str, ...]:
    try:
        api = daemon.connect()
        try:
            with daemon.reported("listing the processes that the agent left running"):
                supervisor = str(api.inspect_container(container)["State"]["Pid"])
                rows = api.top(container, "-eo pid,ppid,uid,stat,args")["Processes"] or []
        finally:
            api.close()
    except EnvironmentFault as error:  # nothing is hidden by that: the verdict tells it
        return (f"what the agent left running is not listed: {error}",)
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
