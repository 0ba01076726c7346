"""Networks and volumes of services whose owner is not alive: finding and removing them."""

from __future__ import annotations

import time
from collections.abc import Mapping
from datetime import datetime
from typing import TYPE_CHECKING, Any, Literal

from environments.docker import daemon
from environments.docker.services.removal import GROUP
from environments.leftovers.leftover import Fate, Leftover
from environments.leftovers.owner import KEEP, TRIAL, Owner, State, boot_time
from trajectories.processes import boot_id

if TYPE_CHECKING:
    from docker import APIClient


def leftovers(api: APIClient) -> list[Leftover]:
    """Return the networks and volumes whose owner is not alive.

    Raises: EnvironmentUnavailable.
    """
    with daemon.reported("listing networks and volumes"):
        booted = boot_time() if daemon.is_on_this_kernel(api) else 0.0
        networks = api.networks(filters={"label": GROUP})
        volumes = api.volumes(filters={"label": GROUP})["Volumes"] or ()
    judgments = [judged("network", each, str(each["Created"]), booted) for each in networks]
    judgments += [judged("volume", each, str(each["CreatedAt"]), booted) for each in volumes]
    return [each for each in judgments if each is not None]


def judged(kind: Literal["network", "volume"], facts: Mapping[str, Any], made: str, booted: float) -> Leftover | None:
    """Judge a network or a volume by its entry in the daemon's list; None if its owner is alive.

    `booted` is the time at which the daemon's kernel was booted, if that is this machine's kernel; otherwise 0.
    """
    labels, name = facts["Labels"], str(facts["Name"])
    owner = Owner.of(labels)
    state, reason = owner.judged() if owner else (State.UNKNOWN, "its labels name no owner")
    if state is State.ALIVE:
        return None
    made_s = _seconds(made)
    if owner and owner.boot_id != boot_id() and made_s < booted:
        state = State.DEAD  # whoever made it, its processes ended with that boot
    fate: Fate = "unknown" if state is State.UNKNOWN else "kept" if KEEP in labels else "dead"
    description = f"{kind} of services" if fate != "unknown" else f"{reason} (docker {kind} rm {name})"
    age_s = max(0.0, time.time() - made_s)
    return Leftover(kind, name, fate, description, owner, age_s, id=name, trial=labels.get(TRIAL))


def remove(api: APIClient, kind: str, name: str) -> str | None:
    """Remove a network or a volume. Return the reason if it could not be removed, None if it is gone."""
    try:
        if kind == "network":
            api.remove_network(name)
        else:
            api.remove_volume(name)
    except daemon.not_found():
        pass
    except OSError as error:
        return daemon.reason(error)
    return None


def _seconds(text: str) -> float:
    """Return the time that a daemon writes with up to nine decimals; now if it cannot be read."""
    try:
        head, _, fraction = text.partition(".")
        zone = fraction.lstrip("0123456789")
        return datetime.fromisoformat(head + (zone if fraction else "")).timestamp()
    except ValueError:
        return time.time()
