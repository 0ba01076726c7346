"""Something that a harness process made and that outlived it, and what may become of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from environments.leftovers.owner import Owner

Fate = Literal["dead", "kept", "unknown"]


@dataclass(frozen=True)
class Leftover:
    """Something that a harness process made; `fate` dead may go, kept only when asked for, unknown stays."""

    kind: Literal["container", "image", "directory", "lock"]
    name: str
    """A container's name, an image's reference, else the path."""
    fate: Fate
    why: str
    """What it is, or why it cannot be judged and what to do."""
    owner: Owner | None
    age_s: float
    bytes: int | None = None
    id: str | None = None
    """A container's or an image's."""
