"""Images that Retrace made: scratch images, of no use once their process has ended, and those that are kept for later.

A scratch image carries its own name as a label. If it also has another name, somebody uses it, and it stays. Commits
of trials and images that were built from a task's Dockerfile stay until the user asks for their removal.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from environments.docker import daemon
from environments.docker.committing import CHECKPOINT
from environments.docker.images import BUILT
from environments.leftovers.leftover import Fate, Leftover
from environments.leftovers.owner import Owner, State, boot_time
from trajectories.processes import boot_id

if TYPE_CHECKING:
    from docker import APIClient

SCRATCH = "retrace.scratch"
"""Label of a scratch image; its value is the image's name."""
_UNTAGGED = "<none>:<none>"
NO_SIZES: Mapping[str, int] = {}
"""No size of an image is known."""


def leftovers(api: APIClient) -> list[Leftover]:
    """Return the scratch images whose owner is not alive.

    Raises: EnvironmentUnavailable.
    """
    with daemon.reported("listing images"):
        booted = boot_time() if daemon.is_on_this_kernel(api) else 0.0
        listed = api.images(filters={"label": SCRATCH})
    return [leftover for facts in listed if (leftover := judged(facts, booted)) is not None]


def judged(facts: Mapping[str, Any], booted: float) -> Leftover | None:
    """Judge an image by its entry in the daemon's list; None if its owner is alive or if it has another name.

    `booted` is the time at which the daemon's kernel was booted, if that is this machine's kernel; otherwise 0.
    """
    labels = facts["Labels"]
    name = labels[SCRATCH]
    if not {*(facts.get("RepoTags") or [])} <= {name, _UNTAGGED}:
        return None
    owner = Owner.of(labels)
    state, reason = owner.judged() if owner else (State.UNKNOWN, "its labels name no owner")
    if state is State.ALIVE:
        return None
    if owner and owner.boot_id != boot_id() and facts["Created"] < booted:
        state = State.DEAD  # whoever made it, its processes ended with that boot
    fate: Fate = "dead" if state is State.DEAD else "unknown"
    description = "image that only its owner could use" if fate == "dead" else f"{reason} (docker rmi {name})"
    age_s = max(0.0, time.time() - facts["Created"])
    return Leftover("image", name, fate, description, owner, age_s, facts.get("Size"), str(facts["Id"]))


def kept_images(api: APIClient, older_s: float) -> list[Leftover]:
    """Return the commits of trials and the built images that were made at least this long ago.

    Raises: EnvironmentUnavailable.
    """
    with daemon.reported("listing images"):
        listed = api.images(all=True)
    sizes = {str(facts["Id"]): int(facts.get("Size") or 0) for facts in listed}
    return [leftover for facts in listed for leftover in kept(facts, sizes) if leftover.age_s >= older_s]


def kept(facts: Mapping[str, Any], sizes: Mapping[str, int] = NO_SIZES) -> list[Leftover]:
    """Return the names that Retrace gave to an image that it keeps, by the image's entry in the daemon's list.

    The size of a commit is what it adds to the image of its container, if `sizes` has that image.
    """
    size = facts.get("Size")
    purposes = {
        f"{CHECKPOINT}:": "commit of a trial: resume, fork and agent evaluate need it",
        f"{BUILT}:": "built from a task's Dockerfile: it is built again when it is needed",
    }
    age_s = max(0.0, time.time() - facts["Created"])
    own = None if size is None else max(0, size - sizes.get(str(facts.get("ParentId")), 0))
    return [
        Leftover("image", name, "kept", purpose, None, age_s, own if prefix == f"{CHECKPOINT}:" else size, name)
        for name in facts.get("RepoTags") or []
        for prefix, purpose in purposes.items()
        if name.removeprefix("localhost/").startswith(prefix)  # Podman puts its own host before a plain name
    ]


def remove(api: APIClient, id: str) -> str | None:
    """Remove an image, or one name of it, but never by force: a user's container may run in it.

    Return the reason if it could not be removed, None if it is gone.
    """
    from docker.errors import DockerException

    try:
        api.remove_image(id)
    except daemon.not_found():
        pass
    except (DockerException, OSError) as error:
        return daemon.reason(error)
    return None
