"""Why a container does not answer: its daemon's word, and what was heard of it while it lived.

Told apart: it was paused, it ended by itself, its first process was killed, somebody killed or removed it, its daemon
was restarted, its daemon is gone.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from environments.docker import daemon
from environments.docker.watch import Watched

if TYPE_CHECKING:
    from docker import APIClient

RESTART_S = 2.5
"""A daemon that is back within so long was restarted; else it counts as gone."""


def trouble(api: APIClient, container: str, heard: Watched) -> str | None:
    """What is wrong with a container, in one line; None if it seems to run."""
    what = f"container {container[:12]}"
    try:
        with daemon.patience(api, daemon.QUICK_S):
            state = api.inspect_container(container)["State"]
    except daemon.not_found():
        return _gone(api, what, heard)
    except OSError as error:
        why = daemon.reason(error)
        if daemon.answers(api, RESTART_S):
            return f"{what}: the daemon was restarted ({why})"
        return f"{what}: the daemon is gone, it does not answer ({why})"
    if state.get("Paused"):
        return f"{what} was paused"
    if state.get("Running") or state.get("Status") in ("created", "initialized"):
        return _told(what, heard)
    if not daemon.answers(api):
        return _restarting(api, what)
    heard.wait(lambda seen: seen.status)
    if heard.killed and heard.wait(lambda seen: seen.removed):
        return _gone(api, what, heard)
    cause = " for memory" if state.get("OOMKilled") or heard.ooms else ""
    words = f"{what} ended{cause} with status {state.get('ExitCode')}{_by_whom(str(state.get('ExitCode')), heard)}"
    return f"{words} {state.get('Error') or ''}".strip()


def _gone(api: APIClient, what: str, heard: Watched) -> str:
    heard.wait(lambda seen: seen.removed or seen.broken)
    if not daemon.answers(api):
        return _restarting(api, what)
    if heard.broken:
        return f"{what} was removed when the daemon was restarted"
    if heard.status is not None and not heard.killed:
        cause = " for memory" if heard.ooms else ""
        return f"{what} ended{cause} with status {heard.status}{_by_whom(heard.status, heard)} and is removed"
    return f"{what} was removed{' (killed through the daemon)' if heard.killed else ''}"


def _restarting(api: APIClient, what: str) -> str:
    if daemon.answers(api, RESTART_S):
        return f"{what} was ended when the daemon was restarted"
    return f"{what} was ended: the daemon is gone, it does not answer"


def _by_whom(status: str, heard: Watched) -> str:
    if heard.killed:
        return f": it was killed through the daemon (signal {heard.killed})"
    if status.isdecimal() and int(status) > 128:
        return f": its first process was killed by signal {int(status) - 128}"
    return ""


def _told(what: str, heard: Watched) -> str | None:
    """Only what was heard: the daemon says that all is well."""
    if heard.paused:
        return f"{what} was paused"
    if heard.status is not None:
        return f"{what} ended with status {heard.status}{_by_whom(heard.status, heard)}"
    return None
