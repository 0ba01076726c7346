"""The reason for which a container does not answer, from its daemon's answer and from events while it lived.

The reasons are: it was paused, it ended by itself, its first process was killed, somebody killed or removed it, its
daemon was restarted, or its daemon is gone.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from environments.docker import daemon
from environments.docker.watch import Watched
from environments.protocol import EnvironmentLost, OutOfMemory

if TYPE_CHECKING:
    from docker import APIClient

RESTART_S = 2.5
"""Seconds within which a daemon that was restarted is back; otherwise it counts as gone."""
OOM_NEAR_S = 5.0
"""Seconds around the end of a container within which the kernel's kill for memory is taken for its cause."""
_KILLED = "137"
"""Exit status of a first process that was killed by signal 9."""


def trouble(api: APIClient, container: str, heard: Watched, *, limited: bool) -> EnvironmentLost | None:
    """Return what is wrong with a container, as an error that was not raised; None if it seems to run.

    It is `OutOfMemory` if the container ended for memory and has a memory limit of its own (`limited`).
    """
    name = f"container {container[:12]}"
    try:
        with daemon.patience(api, daemon.QUICK_S):
            state = api.inspect_container(container)["State"]
    except daemon.not_found():
        return _gone(api, name, heard, limited=limited)
    except OSError as error:
        reason = daemon.reason(error)
        if daemon.answers(api, RESTART_S):
            return EnvironmentLost(f"{name}: the daemon was restarted ({reason})")
        return EnvironmentLost(f"{name}: the daemon is gone, it does not answer ({reason})")
    if state.get("Paused") and heard.has_own_pause:
        return None
    if state.get("Paused"):
        return EnvironmentLost(f"{name} was paused")
    if state.get("Running") or state.get("Status") in ("created", "initialized"):
        return _loss_heard(name, heard, limited=limited)
    if not daemon.answers(api):
        return _restarting(api, name)
    heard.wait(lambda seen: seen.status)
    if heard.killed and heard.wait(lambda seen: seen.removed):
        return _gone(api, name, heard, limited=limited)
    status, for_memory = str(state.get("ExitCode")), bool(state.get("OOMKilled")) and heard.status is None
    return _ended(name, status, heard, limited=limited, for_memory=for_memory, more=str(state.get("Error") or ""))


def _gone(api: APIClient, name: str, heard: Watched, *, limited: bool) -> EnvironmentLost:
    heard.wait(lambda seen: seen.removed or seen.broken)
    if not daemon.answers(api):
        return _restarting(api, name)
    if heard.broken:
        return EnvironmentLost(f"{name} was removed when the daemon was restarted")
    if heard.status is not None and not heard.killed:
        return _ended(name, heard.status, heard, limited=limited, more="and is removed")
    return EnvironmentLost(f"{name} was removed{' (killed through the daemon)' if heard.killed else ''}")


def _restarting(api: APIClient, name: str) -> EnvironmentLost:
    if daemon.answers(api, RESTART_S):
        return EnvironmentLost(f"{name} was ended when the daemon was restarted")
    return EnvironmentLost(f"{name} was ended: the daemon is gone, it does not answer")


def _loss_heard(name: str, heard: Watched, *, limited: bool) -> EnvironmentLost | None:
    """Return the loss that was heard of although the daemon reports that the container runs."""
    if heard.paused:
        return EnvironmentLost(f"{name} was paused")
    if heard.status is not None:
        return _ended(name, heard.status, heard, limited=limited)
    return None


def _ended(
    name: str, status: str, heard: Watched, *, limited: bool, for_memory: bool = False, more: str = ""
) -> EnvironmentLost:
    """Return the loss of a container whose first process ended; `more` ends the line.

    `for_memory`: the daemon reports that the container ran out of memory, and its events did not arrive.
    """
    for_memory = status == _KILLED and not heard.killed and (for_memory or _killed_for_memory(heard))
    cause = " for memory" if for_memory else ""
    text = f"{name} ended{cause} with status {status}{_by_whom(status, heard)} {more}".rstrip()
    return OutOfMemory(text) if for_memory and limited else EnvironmentLost(text)


def _killed_for_memory(heard: Watched) -> bool:
    """Return whether the kernel killed for memory when the container ended. That event may come after the end's."""
    return heard.wait(lambda seen: any(abs(seen.ended_s - oom_s) < OOM_NEAR_S for oom_s in seen.ooms))


def _by_whom(status: str, heard: Watched) -> str:
    if heard.killed:
        return f": it was killed through the daemon (signal {heard.killed})"
    if status.isdecimal() and int(status) > 128:
        return f": its first process was killed by signal {int(status) - 128}"
    return ""
