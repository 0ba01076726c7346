"""Removal of everything that belongs to one group: containers, networks and volumes with the label of the group."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from environments.docker import daemon

if TYPE_CHECKING:
    from docker import APIClient

GROUP = "retrace.group"
"""Label of all that belongs to one group; its value is the group's name."""
REMOVE_S = 20.0
"""Seconds that a removal may take in all."""


def remove_group(api: APIClient, group: str, *, appear_s: float = 0.0, keep: bool = False) -> list[str]:
    """Remove what belongs to a group; return a line for each thing that could not be removed.

    `appear_s`: seconds for which something may still appear, because its creation was interrupted. With `keep`, the
    containers are only ended, and everything stays for inspection.
    """
    until, appears = time.monotonic() + REMOVE_S, time.monotonic() + appear_s
    while True:
        left = _once(api, group, keep=keep)
        if (not left and time.monotonic() >= appears) or time.monotonic() > until:
            return left
        time.sleep(0.05)


def _once(api: APIClient, group: str, *, keep: bool) -> list[str]:
    filters = {"label": f"{GROUP}={group}"}
    try:
        with daemon.patience(api, daemon.QUICK_S):
            if keep:
                running = api.containers(filters=filters)
                return _all("container", [str(each["Id"]) for each in running], api.kill)
            containers = [str(each["Id"]) for each in api.containers(all=True, filters=filters)]
            left = _all("container", containers, lambda id: api.remove_container(id, force=True, v=True))
            networks = [str(each["Id"]) for each in api.networks(filters=filters)]
            left += _all("network", networks, api.remove_network)
            volumes = [str(each["Name"]) for each in api.volumes(filters=filters)["Volumes"] or ()]
            return left + _all("volume", volumes, lambda name: api.remove_volume(name, force=True))
    except OSError as error:
        return [f"the daemon does not list group {group}: {daemon.reason(error)}"]


def _all(kind: str, names: list[str], remove: Callable[[str], object]) -> list[str]:
    left = []
    for name in names:
        try:
            remove(name)
        except daemon.not_found():
            pass
        except OSError as error:
            left.append(f"{kind} {name[:24]}: {daemon.reason(error)}")
    return left
