"""A thing that a harness process made and that outlived it, and whether it may be removed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from environments.leftovers.owner import Owner

Fate = Literal["dead", "kept", "unknown"]
"""`dead` may be removed, `kept` only when the user asks for it, `unknown` stays."""


@dataclass(frozen=True)
class Leftover:
    """A container, network, volume, image, directory or lock file whose owner is not alive."""

    kind: Literal["container", "network", "volume", "image", "directory", "lock"]
    name: str
    """A container's name, an image's reference, or a path."""
    fate: Fate
    why: str
    """A description; of an `unknown` one, why it cannot be judged and what to do about it."""
    owner: Owner | None
    age_s: float
    bytes: int | None = None
    id: str | None = None
    """The daemon's id of a container or an image, or the name of a network or a volume."""
    trial: str | None = None
    """Name of the trial that a container was made for."""
