"""The reason for which a container does not answer, from its daemon's answer and from events while it lived.

The reasons are: it was paused, it ended by itself, its first process was killed, somebody killed or removed it, its
daemon was restarted, or its daemon is gone.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from environments.docker import daemon
from environments.docker.watch import Watched

if TYPE_CHECKING:
    from docker import APIClient

RESTART_S = 2.5
"""Seconds within which a daemon that was restarted is back; otherwise it counts as gone."""


def trouble(api: APIClient, container: str, heard: Watched) -> str | None:
    """Return what is wrong with a container, in one line; None if it seems to run."""
    name = f"container {container[:12]}"
    try:
        with daemon.patience(api, daemon.QUICK_S):
            state = api.inspect_container(container)["State"]
    except daemon.not_found():
        return _gone(api, name, heard)
    except OSError as error:
        reason = daemon.reason(error)
        if daemon.answers(api, RESTART_S):
            return f"{name}: the daemon was restarted ({reason})"
        return f"{name}: the daemon is gone, it does not answer ({reason})"
    if state.get("Paused"):
        return f"{name} was paused"
    if state.get("Running") or state.get("Status") in ("created", "initialized"):
        return _loss_heard(name, heard)
    if not daemon.answers(api):
        return _restarting(api, name)
    heard.wait(lambda seen: seen.status)
    if heard.killed and heard.wait(lambda seen: seen.removed):
        return _gone(api, name, heard)
    cause = " for memory" if state.get("OOMKilled") or heard.ooms else ""
    words = f"{name} ended{cause} with status {state.get('ExitCode')}{_by_whom(str(state.get('ExitCode')), heard)}"
    return f"{words} {state.get('Error') or ''}".strip()


def _gone(api: APIClient, name: str, heard: Watched) -> str:
    heard.wait(lambda seen: seen.removed or seen.broken)
    if not daemon.answers(api):
        return _restarting(api, name)
    if heard.broken:
        return f"{name} was removed when the daemon was restarted"
    if heard.status is not None and not heard.killed:
        cause = " for memory" if heard.ooms else ""
        return f"{name} ended{cause} with status {heard.status}{_by_whom(heard.status, heard)} and is removed"
    return f"{name} was removed{' (killed through the daemon)' if heard.killed else ''}"


def _restarting(api: APIClient, name: str) -> str:
    if daemon.answers(api, RESTART_S):
        return f"{name} was ended when the daemon was restarted"
    return f"{name} was ended: the daemon is gone, it does not answer"


def _by_whom(status: str, heard: Watched) -> str:
    if heard.killed:
        return f": it was killed through the daemon (signal {heard.killed})"
    if status.isdecimal() and int(status) > 128:
        return f": its first process was killed by signal {int(status) - 128}"
    return ""


def _loss_heard(name: str, heard: Watched) -> str | None:
    """Return the loss that was heard of although the daemon reports that the container runs."""
    if heard.paused:
        return f"{name} was paused"
    if heard.status is not None:
        return f"{name} ended with status {heard.status}{_by_whom(heard.status, heard)}"
    return None
