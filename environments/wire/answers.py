"""What a supervisor says of itself and around what it sends, as records."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Ready:
    """What the supervisor found when it started."""

    bash: str
    user: str
    """Name of the user that actions run as; its number if it has none."""
    uid: int
    gid: int
    dropped: bool
    """Whether actions run as another user than the supervisor."""
    lost: tuple[str, ...]
    counts_oom: bool = False
    """Whether the supervisor sees the kernel's count of processes killed for memory."""
    peak: bool = False
    """Whether the supervisor sees the high-water mark of memory."""


@dataclass(frozen=True)
class Told:
    """What a supervisor said around the bytes of `Channel.read`."""

    facts: list[str]
    status: int
    said: str
