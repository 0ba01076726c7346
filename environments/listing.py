"""What is in a workspace at one moment, and how two moments differ. No I/O: environments make listings.

A change is told by type, mode, size, inode and status time: the status time cannot be set back by an action, so that
no change goes unseen. A file that was only touched, linked or given away counts as modified too. Paths are relative to
the workspace; bytes that are no UTF-8 are surrogates (`os.fsdecode`). Records are as `supervisor/52-listing.sh` says;
they stay bytes until something is asked of them, and where nothing differs they are only compared.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from trajectories.events import Skipped

EntryType = Literal["file", "directory", "symlink", "other"]

_TYPES: dict[bytes, EntryType] = {b"f": "file", b"d": "directory", b"l": "symlink"}
_STRIDE = 1 << 14


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
    """Everything below the workspace's directory, which itself is not in it; mount points too, as in an export.

    `unlisted` names the directories whose content is not in it, and why: not readable, or too long a path.
    """

    def __init__(self, raw: bytes = b"", *, busy: bool = False, unlisted: tuple[Skipped, ...] = ()) -> None:
        """`raw` is what a supervisor sent; `busy`: something ran that could write while the listing was made."""
        moment, _, rest = raw.partition(b"\0")  # of the workspace itself is the second record
        self._records = rest.partition(b"\0")[2]
        self._unsure_from = moment.split(b" ")[3] if busy and moment else b""
        self.unlisted = unlisted + tuple(_too_long(self._records))

    def entries(self) -> list[Entry]:
        """All of them, by path."""
        return sorted(map(_entry, _listed(self._records)), key=lambda entry: entry.path)

    def since(self, mark: Listing) -> list[Changed]:
        """What changed from `mark` to here, by path. A directory whose content alone changed is not in it.

        What a background process wrote in the very moment in which the mark was made, it may have written again
        unseen: it counts as modified.
        """
        old_part, new_part = _trimmed(mark._records, self._records)
        old_records, new_records = set(_listed(old_part)), set(_listed(new_part))
        new = {_path(record): record for record in new_records - old_records}
        old = {_path(record): record for record in old_records - new_records}
        changes = [Changed("modified" if path in old else "created", _entry(new[path])) for path in new]
        changes += [Changed("deleted", _entry(old[path])) for path in old.keys() - new.keys()]
        if mark._unsure_from:
            unsure = {record for record in _listed(mark._records) if record.split(b" ", 4)[3] >= mark._unsure_from}
            if unsure:
                changes += [Changed("modified", _entry(one)) for one in unsure.intersection(_listed(self._records))]
        return sorted(changes, key=lambda changed: changed.entry.path)


def _trimmed(old: bytes, new: bytes) -> tuple[bytes, bytes]:
    """Both without what they have in common at their beginning and end, whole records: a file more costs no parsing."""
    if old == new:
        return b"", b""
    least = min(len(old), len(new))
    start = end = 0
    while start < least and old[start : start + _STRIDE] == new[start : start + _STRIDE]:
        start += _STRIDE
    start = old.rfind(b"\0", 0, min(start, least)) + 1
    while end < least - start and old[-end - _STRIDE : len(old) - end] == new[-end - _STRIDE : len(new) - end]:
        end += _STRIDE
    end = min(end, least - start)
    end = len(old) - 1 - old.find(b"\0", len(old) - end) if end else 0
    return old[start : len(old) - end], new[start : len(new) - end]


def _listed(records: bytes) -> Iterator[bytes]:
    return (record for record in records.split(b"\0") if record and not record.startswith(b"!"))


def _too_long(records: bytes) -> Iterator[Skipped]:
    if b"\0!" in records or records.startswith(b"!"):
        for record in records.split(b"\0"):
            if record.startswith(b"!"):
                path = _path(record)
                shown = path[:200].decode("utf-8", "backslashreplace")
                yield Skipped(path=f"{shown}...", why=f"its path has {len(path)} bytes, too many to go into it")


def _path(record: bytes) -> bytes:
    return record.split(b" ", 4)[4]


def _entry(record: bytes) -> Entry:
    kind, size, _, _, path = record.split(b" ", 4)
    return Entry(os.fsdecode(path), _TYPES.get(kind[:1], "other"), int(kind[1:], 8), int(size))
