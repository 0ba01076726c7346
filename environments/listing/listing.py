"""What is in a workspace at one moment, and how two moments differ. No I/O: environments make listings.

A change is told by type, mode, size, inode and status time: the status time cannot be set back by an action, so that
no change goes unseen. A file that was only touched, linked or given away counts as modified too. Paths are relative to
the workspace; bytes that are no UTF-8 are surrogates (`os.fsdecode`). Records are as `supervisor/52-listing.sh` says;
they stay bytes until something is asked of them, or until a listing follows of which only what changed is sent.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from environments.listing.tree import Tree, Unclear, is_directory, split
from trajectories.record.events import Skipped

PathType = Literal["file", "directory", "symlink", "other"]

_TYPES: dict[bytes, PathType] = {b"f": "file", b"d": "directory", b"l": "symlink"}
_STRIDE = 1 << 14
_MARGIN_NS = 50_000_000
"""So much earlier than the last listing the next one looks: some ticks of the clock that stamps files."""


@dataclass(frozen=True)
class ListedPath:
    """One path; `mode` is its permission bits, `size` in bytes (of a file; of a link its target's length)."""

    path: str
    type: PathType
    mode: int
    size: int


@dataclass(frozen=True)
class Changed:
    """One difference. `entry` is what is there now; for a deletion, what was."""

    change: Literal["created", "modified", "deleted"]
    entry: ListedPath


class Listing:
    """Everything below the workspace's directory, which itself is not in it; mount points too, as in an export.

    `unlisted` names the directories whose content is not in it, and why: not readable, or too long a path.
    One that follows on another takes over its tree; the other keeps what was different, and who follows on it.
    """

    def __init__(self, raw: bytes = b"", *, busy: bool = False, unlisted: tuple[Skipped, ...] = ()) -> None:
        """`raw` is what a supervisor sent; `busy`: something ran that could write while the listing was made."""
        moment, _, rest = raw.partition(b"\0")  # of the workspace itself is the second record
        self._records = rest.partition(b"\0")[2]
        self._tree: Tree | None = None
        self._next: tuple[Listing, dict[bytes, bytes | None]] | None = None
        self._moment_ns = _moment_ns(moment)
        self._newest_ns: int | None = None
        self._busy = busy
        self.unlisted = unlisted + tuple(_too_long(self._records))

    @property
    def look_after(self) -> str:
        """Since when a follower is to look, in seconds, for `followed_by`; empty if everything has to be listed."""
        if self.unlisted or not self._moment_ns:
            return ""
        return "{}.{:09d}".format(*divmod(self._moment_ns - _MARGIN_NS, 10**9))

    @property
    def is_followed(self) -> bool:
        """Whether another listing took over its tree."""
        return self._next is not None

    @property
    def is_settled(self) -> bool:
        """Whether all in it is older than itself, so that no later change can have a time that it has seen."""
        return self._newest_ns is not None and self._newest_ns < self._moment_ns

    def followed_by(self, raw: bytes, *, busy: bool = False) -> Listing:
        """A listing of which `raw` says what changed after `look_after`; `since` of this one is then cheap.

        Raises: Unclear if it does not say everything; this one can be followed again.
        """
        moment, _, seen = raw.partition(b"\0")
        follower = Listing(busy=busy)
        follower._moment_ns = _moment_ns(moment)
        if follower._moment_ns < self._moment_ns or self._next is not None or b"\0!" in raw:
            raise Unclear("the clock went back, or a path is too long")
        tree = self._tree or Tree(_listed(self._records))
        before = tree.take_in(seen)
        times = (facts.rpartition(b" ")[2] for path in before if (facts := tree.facts.get(path)) is not None)
        follower._newest_ns = max(map(_nanoseconds, times), default=0)
        self._records, self._tree, self._next, follower._tree = b"", None, (follower, before), tree
        return follower

    def entries(self) -> list[ListedPath]:
        """All of them, by path."""
        return sorted(map(_entry, self._facts().items()), key=lambda entry: entry.path)

    def since(self, mark: Listing) -> list[Changed]:
        """What changed from `mark` to here, by path. A directory whose content alone changed is not in it.

        What a background process wrote in the very moment in which the mark was made, it may have written again
        unseen: it counts as modified.
        """
        found = self._looked_at(mark)
        if found is None:
            found = self._compared(mark)
        changes = []
        for path, (old, new) in found.items():
            if new is None:
                if old is not None:
                    changes.append(Changed("deleted", _entry((path, old))))
            elif old is None:
                changes.append(Changed("created", _entry((path, new))))
            elif _differ(old, new) or mark._is_unsure(old):
                changes.append(Changed("modified", _entry((path, new))))
        return sorted(changes, key=lambda changed: changed.entry.path)

    def _looked_at(self, mark: Listing) -> dict[bytes, tuple[bytes | None, bytes | None]] | None:
        """Each path that was looked at on the way from `mark` to here, then and now; None if there is no such way."""
        before: dict[bytes, bytes | None] = {}
        one = mark
        while one is not self:
            if one._next is None:
                return None
            one, earlier = one._next
            before = earlier | before
        facts = self._facts() if before else {}
        return {path: (old, facts.get(path)) for path, old in before.items()}

    def _compared(self, mark: Listing) -> dict[bytes, tuple[bytes | None, bytes | None]]:
        """Each path that may have changed, then and now."""
        if self._tree or mark._tree or self._next or mark._next:
            old, new = mark._facts(), self._facts()
        else:
            old_part, new_part = _trimmed(mark._records, self._records)
            old, new = _by_path(old_part), _by_path(new_part)
        paths = {path for path, _ in old.items() ^ new.items()}
        found = {path: (old.get(path), new.get(path)) for path in paths}
        if mark._busy:
            now = self._facts()
            unsure = ((path, facts) for path, facts in mark._facts().items() if mark._is_unsure(facts))
            found |= {path: (facts, facts) for path, facts in unsure if now.get(path) == facts}
        return found

    def _facts(self) -> dict[bytes, bytes]:
        """What it says of each path; not to be changed."""
        if self._tree is not None:
            return self._tree.facts
        if self._next is None:
            return _by_path(self._records)
        way: list[dict[bytes, bytes | None]] = []
        one = self
        while one._next is not None:
            one, before = one._next
            way.append(before)
        facts = dict(one._facts())
        for before in reversed(way):
            for path, old in before.items():
                if old is None:
                    facts.pop(path, None)
                else:
                    facts[path] = old
        return facts

    def _is_unsure(self, facts: bytes) -> bool:
        return self._busy and facts[:1] in b"fl" and _nanoseconds(facts.rpartition(b" ")[2]) >= self._moment_ns


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


def _by_path(records: bytes) -> dict[bytes, bytes]:
    return {path: facts for facts, path in map(split, _listed(records))}


def _too_long(records: bytes) -> Iterator[Skipped]:
    if b"\0!" in records or records.startswith(b"!"):
        for record in records.split(b"\0"):
            if record.startswith(b"!"):
                path = split(record)[1]
                shown = path[:200].decode("utf-8", "backslashreplace")
                yield Skipped(path=f"{shown}...", why=f"its path has {len(path)} bytes, too many to go into it")


def _differ(old: bytes, new: bytes) -> bool:
    """Directories have an inode, by which one that came from elsewhere is known; it is no change by itself."""
    if is_directory(old) and is_directory(new):
        return old.partition(b" ")[0] != new.partition(b" ")[0]
    return old != new


def _moment_ns(record: bytes) -> int:
    """When a listing began; 0 if its first record does not say it."""
    fields = record.split(b" ")
    return _nanoseconds(fields[3]) if len(fields) == 5 and not fields[4] and record.startswith(b"f") else 0


def _nanoseconds(time_s: bytes) -> int:
    """A status time as find (10 digits) and stat write it."""
    whole, _, fraction = time_s.partition(b".")
    return int(whole) * 10**9 + int(fraction[:9].ljust(9, b"0") or b"0")


def _entry(item: tuple[bytes, bytes]) -> ListedPath:
    path, facts = item
    kind, size, _ = facts.split(b" ", 2)
    return ListedPath(os.fsdecode(path), _TYPES.get(kind[:1], "other"), int(kind[1:], 8), int(size))
