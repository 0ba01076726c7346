"""What is in a workspace at one moment, and how two moments differ. No I/O: environments make listings.

A change is told by type, mode, size, inode and the times of content and status: the status time cannot be set back by
an action, so that no change goes unseen. Paths are relative to the workspace; bytes that are no UTF-8 are surrogates
(`os.fsdecode`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

EntryType = Literal["file", "directory", "symlink", "other"]


@dataclass(frozen=True)
class Entry:
    """One path; `mode` is its permission bits, `size` in bytes (of a file; of a link its target's length)."""

    path: str
    type: EntryType
    mode: int
    size: int


@dataclass(frozen=True)
class Changed:
    """One difference. `entry` is what is there now; for a deletion, what was."""

    change: Literal["created", "modified", "deleted"]
    entry: Entry


class Listing:
    """Everything below the workspace's directory, which itself is not in it."""

    def __init__(self, records: frozenset[bytes] = frozenset()) -> None:
        self._records = records

    def entries(self) -> list[Entry]:
        """All of them, by path."""
        raise NotImplementedError

    def since(self, mark: Listing) -> list[Changed]:
        """What changed from `mark` to here, by path. A directory whose content alone changed is not in it."""
        raise NotImplementedError
