"""Our containers whose owner is not alive: finding, judging and removing them."""

from __future__ import annotations

import time
from collections.abc import Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from environments.docker import daemon
from environments.leftovers.leftover import Fate, Leftover
from environments.leftovers.owner import KEEP, PID, TRIAL, Owner, State, boot_time
from trajectories.processes import boot_id

if TYPE_CHECKING:
    from docker import APIClient

REMOVE_S = 10.0
"""Seconds that a daemon may take to finish a removal that has already begun."""
_RUNS = ("running", "paused", "restarting")


def leftovers(api: APIClient) -> list[Leftover]:
    """Return our containers whose owner is not alive.

    Raises: EnvironmentUnavailable.
    """
    with daemon.reported("listing containers"):
        listed = api.containers(all=True, filters={"label": PID})
        local = daemon.is_on_this_kernel(api) if listed else False
        labels_of: dict[str, Mapping[str, str] | None] = {}
        judgments = []
        for facts in listed:
            labels, image = facts["Labels"], facts["ImageID"]
            if image not in labels_of:
                labels_of[image] = _labels_of_image(api, image)
            image_labels = labels_of[image]
            if image_labels is None or not _inherited(labels, image_labels):
                judgments.append(judged(facts, local=local, own=image_labels is not None))
    return [leftover for leftover in judgments if leftover is not None]


def judged(facts: Mapping[str, Any], *, local: bool, own: bool = True) -> Leftover | None:
    """Judge a container by its entry in the daemon's list; None if its owner is alive.

    `local`: the daemon runs on this machine's kernel. `own`: its labels are known not to come from its image.
    """
    labels = facts["Labels"]
    owner = Owner.of(labels)
    state, reason = owner.judged() if owner else (State.UNKNOWN, "its labels name no owner")
    if state is State.ALIVE:
        return None
    runs = facts["State"] in _RUNS
    if owner and owner.boot_id != boot_id() and local and not runs and facts["Created"] < boot_time():
        state = State.DEAD  # whoever made it, its processes ended with that boot
    if state is State.DEAD and not own:
        state, reason = State.UNKNOWN, "its image is gone, so its labels may have been those of the image"
    fate: Fate = "unknown" if state is State.UNKNOWN else "kept" if KEEP in labels else "dead"
    name = str((facts.get("Names") or [facts["Id"][:12]])[0]).lstrip("/")
    description = str(facts.get("Status") or facts["State"]).lower()
    if fate == "unknown":
        description = f"{description}; {reason} (docker rm -fv {name})"
    age_s = max(0.0, time.time() - facts["Created"])
    id, trial = str(facts["Id"]), labels.get(TRIAL)
    return Leftover("container", name, fate, description, owner, age_s, id=id, trial=trial)


def remove(api: APIClient, id: str) -> str | None:
    """Remove a container. Return the reason if it could not be removed, None if it is gone."""
    from docker.errors import DockerException

    until = time.monotonic() + REMOVE_S
    while True:
        try:
            api.remove_container(id, force=True, v=True)
            return None
        except daemon.not_found():
            return None
        except (DockerException, OSError) as error:
            # A conflict: it is being removed at this very moment, by itself or by another process.
            if time.monotonic() > until or not daemon.is_conflict(error):
                return daemon.reason(error)
        time.sleep(0.05)


def _inherited(labels: Mapping[str, str], image: Mapping[str, str]) -> bool:
    """Return whether a container has our labels only because its image has them: a user's own `docker run` of it."""
    ours = {name: value for name, value in labels.items() if name.startswith("retrace.")}
    return ours.items() <= image.items()


def _labels_of_image(api: APIClient, image: str) -> Mapping[str, str] | None:
    with suppress(daemon.not_found()):
        return (api.inspect_image(image).get("Config") or {}).get("Labels") or {}  # type: ignore[no-untyped-call]
    return None
