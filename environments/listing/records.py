"""The records that a listing is made of, as `supervisor/52-listing.sh` writes them: `TYPEMODE SIZE INODE TIME PATH`.

The facts of a path are its record without the path. They stay bytes, because most of them are never looked at.
"""

from __future__ import annotations

from collections.abc import Iterator

from trajectories.record.events import Skipped

_STRIDE = 1 << 14
_SHOWN_BYTES = 200


def split(record: bytes) -> tuple[bytes, bytes]:
    """Return the facts and the path of a record."""
    path = record.split(b" ", 4)[4]
    return record[: len(record) - len(path) - 1], path


def listed(records: bytes) -> Iterator[bytes]:
    """Yield the records, except those of directories whose path is too long to go into."""
    return (record for record in records.split(b"\0") if record and not record.startswith(b"!"))


def by_path(records: bytes) -> dict[bytes, bytes]:
    """Return the facts of each path."""
    return {path: facts for facts, path in map(split, listed(records))}


def too_long(records: bytes) -> Iterator[Skipped]:
    """Yield the directories whose path is too long to go into."""
    if b"\0!" in records or records.startswith(b"!"):
        for record in records.split(b"\0"):
            if record.startswith(b"!"):
                path = split(record)[1]
                shown = path[:_SHOWN_BYTES].decode("utf-8", "backslashreplace")
                yield Skipped(path=f"{shown}...", why=f"its path has {len(path)} bytes, too many to go into it")


def is_directory(facts: bytes) -> bool:
    """Return whether these are the facts of a directory."""
    return facts.startswith(b"d")


def same_kind(old: bytes, new: bytes) -> bool:
    """Return whether both facts are of files, or both of one and the same directory."""
    if is_directory(old) or is_directory(new):
        return old[:1] == new[:1] and old.split(b" ")[2] == new.split(b" ")[2]
    return True


def differ(old: bytes, new: bytes) -> bool:
    """Return whether the facts of a path show a change.

    A directory's inode only tells whether it came from elsewhere; another inode is not a change by itself.
    """
    if is_directory(old) and is_directory(new):
        return old.partition(b" ")[0] != new.partition(b" ")[0]
    return old != new


def status_time_ns(facts: bytes) -> int:
    """Return the time of a path's last change."""
    return nanoseconds(facts.rpartition(b" ")[2])


def moment_ns(record: bytes) -> int:
    """Return the time of a listing from its first record, or 0 if that record does not tell it."""
    fields = record.split(b" ")
    return nanoseconds(fields[3]) if len(fields) == 5 and not fields[4] and record.startswith(b"f") else 0


def nanoseconds(time_s: bytes) -> int:
    """Convert a status time as find (10 digits) and stat write it."""
    whole, _, fraction = time_s.partition(b".")
    return int(whole) * 10**9 + int(fraction[:9].ljust(9, b"0") or b"0")


def trimmed(old: bytes, new: bytes) -> tuple[bytes, bytes]:
    """Return both without the whole records that they share at the beginning and at the end.

    With this, a large workspace to which one file was added costs next to no parsing.
    """
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
