"""Images that were made for one process alone and outlived it. All others are caches, or somebody's, and stay.

Such an image carries its own name as a label. One that bears another name as well was taken up by somebody.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from environments.docker import daemon
from environments.leftovers.leftover import Fate, Leftover
from environments.leftovers.owner import Owner, State
from trajectories.processes import boot_id

if TYPE_CHECKING:
    from docker import APIClient

SCRATCH = "retrace.scratch"
_UNTAGGED = "<none>:<none>"


def leftovers(api: APIClient, booted: float) -> list[Leftover]:
    """Those whose owner does not live. `booted`: when the daemon's kernel was, if it is ours; else 0.

    Raises: EnvironmentUnavailable.
    """
    with daemon.told("listing images"):
        listed = api.images(filters={"label": SCRATCH})
    return [one for facts in listed if (one := judged(facts, booted)) is not None]


def judged(facts: Mapping[str, Any], booted: float) -> Leftover | None:
    """An image by what the daemon's list says of it; None if its owner lives, or it is not only its owner's."""
    labels = facts["Labels"]
    name = labels[SCRATCH]
    if not {*(facts.get("RepoTags") or [])} <= {name, _UNTAGGED}:
        return None
    owner = Owner.of(labels)
    state, why = owner.judged() if owner else (State.UNKNOWN, "its labels name no owner")
    if state is State.ALIVE:
        return None
    if owner and owner.boot_id != boot_id() and facts["Created"] < booted:
        state = State.DEAD  # whoever made it, its processes ended with that boot
    fate: Fate = "dead" if state is State.DEAD else "unknown"
    what = "image of use to its owner only" if fate == "dead" else f"{why} (docker rmi {name})"
    age_s = max(0.0, time.time() - facts["Created"])
    return Leftover("image", name, fate, what, owner, age_s, facts.get("Size"), str(facts["Id"]))
