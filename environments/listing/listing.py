"""The paths of a workspace at one moment, and the differences between two moments. No I/O: `lister` makes listings.

Rules

1. A path has changed if its type, mode, size, inode or status time (ctime) is another. An action cannot set a status
   time back, so no change to a file goes unseen. A file that was only touched, linked or given to another owner counts
   as modified, too.
2. Of a directory only type and mode count: making and removing paths in it is reported for those paths. It has no
   size and no time in a record; its inode only tells whether it is the same directory as before.
3. Whoever makes, removes or renames a path changes the status time of the directory that holds it. So a directory
   without a new status time holds the same paths as before, and each of these that changed has a new status time.
4. There is one exception: what is inside a directory that was moved here from elsewhere keeps its old times.
5. Two changes within one tick of the clock that stamps files have the same status time. Therefore a listing looks back
   a little further than the moment of the last one (`_MARGIN_NS`), and after a listing the channel waits one tick
   before it starts anything that writes. What runs during the listing does not wait: see "busy" below.

Theory of operation

The first listing has one record for each path. It stays one block of bytes until somebody asks for something. For the
second listing the supervisor is asked only for what has a newer status time than `look_after` of the first: all such
paths, and the complete content of the directories among them. `followed_by` builds the second listing from that. The
first one's tree (facts by path) moves on to the second and is changed in place; the first keeps, in `_next`, its
successor and the former facts of all paths that were looked at. A chain of listings thus has one tree, at its end, and
each earlier listing can be restored from it by undoing the steps between them.

`since` has two ways. If the listing is reached from the mark by following `_next`, only paths that were looked at on
the way are compared. If not, all facts of both are compared. Both ways give the same result.

If rule 3 cannot be relied on (rule 4, a clock that was set back, an error of the lister), the step raises `Unclear`,
and everything is listed again, which begins a new chain.

A listing is busy if something ran during it that could write. Such a process may write to a file a second time in the
same tick after the file was listed. So a file whose status time in a busy mark is not older than the mark itself
counts as modified, even if its facts are the same later on.

An example of three listings

A workspace holds the directory `a` with a file `f`, and a file `b`. The first record is the moment of the listing (the
status time of a file that the supervisor has just written), the second the workspace itself. The first listing:

    f644 1 1 100.0              (the moment)
    d755 0 10 0                 (the workspace: inode 10)
    d755 0 11 0 a
    f644 5 12 90.0 a/f
    f644 2 13 91.0 b

An action removes `a/f`, makes an empty `a/g` and appends to `b`. The second listing asks for everything after 99.95:

    f644 1 1 102.0
    d755 0 11 0 a               (newer, because its content changed)
    f644 0 14 101.0 a/g
    f644 7 13 101.0 b
                                (an empty record: the content of the newer directories follows)
    f644 0 14 101.0 ./a/g

The content of `a` no longer has `a/f`, so it was deleted. The first listing now keeps the former facts of what was
looked at: `a`, `a/f` and `b` as above, and None for `a/g`. `second.since(first)` compares these four with the tree:
`a/f` was deleted, `a/g` created, `b` modified; `a` has the same mode.

Then an action moves a directory `d` with a file in it from elsewhere into the workspace. The third listing begins with

    f644 1 1 104.0
    d755 0 10 0                 (the workspace is newer)
                                (empty)
    d755 0 11 0 ./a
    f644 7 13 101.0 ./b
    d755 0 20 0 ./d

`d` is new here and was not gone through, since its own time is old: it came from elsewhere, and what it holds is not
known. This is `Unclear`, so everything is listed again. `third.since(first)` finds no chain between them; it restores
the facts of the first from the tree of the second and compares all paths.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Literal

from environments.listing.records import by_path, differ, listed, moment_ns, status_time_ns, too_long, trimmed
from environments.listing.tree import Tree, Unclear
from trajectories.record.events import Skipped

PathType = Literal["file", "directory", "symlink", "other"]

_TYPES: dict[bytes, PathType] = {b"f": "file", b"d": "directory", b"l": "symlink"}
_MARGIN_NS = 50_000_000
"""Overlap of what two listings look at, in ns: some ticks of the clock that stamps files."""


@dataclass(frozen=True)
class ListedPath:
    """One path of a workspace."""

    path: str
    """Relative to the workspace; bytes that are not UTF-8 are surrogates (`os.fsdecode`)."""
    type: PathType
    mode: int
    """Permission bits."""
    size: int
    """Bytes of a file, or length of a link's target; 0 for all others."""


@dataclass(frozen=True)
class Changed:
    """One difference between two moments."""

    change: Literal["created", "modified", "deleted"]
    entry: ListedPath
    """The path as it is now; of a deleted one, as it was."""


class Listing:
    """Everything below the workspace's directory, mount points included, as in an export.

    `unlisted` names the directories whose content is missing from it, each with the reason: not readable, or too long
    a path. The module's docstring explains how listings follow one another.
    """

    def __init__(self, raw: bytes = b"", *, busy: bool = False, unlisted: tuple[Skipped, ...] = ()) -> None:
        """Make a listing from all records, as the supervisor sent them.

        `busy`: something ran that could write while the listing was made.
        """
        moment, _, rest = raw.partition(b"\0")
        self._records = rest.partition(b"\0")[2]  # without that of the workspace itself
        self._tree: Tree | None = None
        self._next: tuple[Listing, dict[bytes, bytes | None]] | None = None
        self._moment_ns = moment_ns(moment)
        self._newest_ns: int | None = None
        self._busy = busy
        self.unlisted = unlisted + tuple(too_long(self._records))

    @property
    def look_after(self) -> str:
        """Time in seconds after which a follower is to look; empty if everything has to be listed."""
        if self.unlisted or not self._moment_ns:
            return ""
        return "{}.{:09d}".format(*divmod(self._moment_ns - _MARGIN_NS, 10**9))

    @property
    def is_followed(self) -> bool:
        """True if another listing took over its tree."""
        return self._next is not None

    @property
    def is_settled(self) -> bool:
        """True if everything in it is older than the listing itself, so that a later change always has a newer time."""
        return self._newest_ns is not None and self._newest_ns < self._moment_ns

    def followed_by(self, raw: bytes, *, busy: bool = False) -> Listing:
        """Return the next listing, where `raw` has what changed after `look_after`.

        Raises: Unclear if that does not tell everything; this listing can then be followed again.
        """
        moment, _, seen = raw.partition(b"\0")
        follower = Listing(busy=busy)
        follower._moment_ns = moment_ns(moment)
        if follower._moment_ns < self._moment_ns or self._next is not None or b"\0!" in raw:
            raise Unclear("the clock went back, or a path is too long")
        tree = self._tree or Tree(listed(self._records))
        before = tree.take_in(seen)
        times = (status_time_ns(facts) for path in before if (facts := tree.facts.get(path)) is not None)
        follower._newest_ns = max(times, default=0)
        self._records, self._tree, self._next, follower._tree = b"", None, (follower, before), tree
        return follower

    def entries(self) -> list[ListedPath]:
        """Return all paths, in order."""
        return sorted(map(_listed_path, self._facts().items()), key=lambda entry: entry.path)

    def since(self, mark: Listing) -> list[Changed]:
        """Return what changed from `mark` to here, ordered by path.

        A directory of which only the content changed is not in it. A file that a background process wrote to in the
        very moment of the mark counts as modified: it may have been written to again, unseen.
        """
        pairs = self._looked_at(mark)
        if pairs is None:
            pairs = self._compared(mark)
        changes = []
        for path, (old, new) in pairs.items():
            if new is None:
                if old is not None:
                    changes.append(Changed("deleted", _listed_path((path, old))))
            elif old is None:
                changes.append(Changed("created", _listed_path((path, new))))
            elif differ(old, new) or mark._is_unsure(old):
                changes.append(Changed("modified", _listed_path((path, new))))
        return sorted(changes, key=lambda changed: changed.entry.path)

    def _looked_at(self, mark: Listing) -> dict[bytes, tuple[bytes | None, bytes | None]] | None:
        """Return the old and new facts of each path that was looked at between `mark` and here.

        None if this listing is not reached by following `mark`.
        """
        before: dict[bytes, bytes | None] = {}
        listing = mark
        while listing is not self:
            if listing._next is None:
                return None
            listing, step = listing._next
            before = step | before
        facts = self._facts() if before else {}
        return {path: (old, facts.get(path)) for path, old in before.items()}

    def _compared(self, mark: Listing) -> dict[bytes, tuple[bytes | None, bytes | None]]:
        """Return the old and new facts of each path that may have changed, by comparing all of them."""
        if self._tree or mark._tree or self._next or mark._next:
            old, new = mark._facts(), self._facts()
        else:
            old_part, new_part = trimmed(mark._records, self._records)
            old, new = by_path(old_part), by_path(new_part)
        paths = {path for path, _ in old.items() ^ new.items()}
        pairs = {path: (old.get(path), new.get(path)) for path in paths}
        if mark._busy:
            now = self._facts()
            unsure = ((path, facts) for path, facts in mark._facts().items() if mark._is_unsure(facts))
            pairs |= {path: (facts, facts) for path, facts in unsure if now.get(path) == facts}
        return pairs

    def _facts(self) -> dict[bytes, bytes]:
        """Return the facts of each path. Callers must not change them."""
        if self._tree is not None:
            return self._tree.facts
        if self._next is None:
            return by_path(self._records)
        steps: list[dict[bytes, bytes | None]] = []
        listing = self
        while listing._next is not None:
            listing, before = listing._next
            steps.append(before)
        facts = dict(listing._facts())
        for before in reversed(steps):
            for path, old in before.items():
                if old is None:
                    facts.pop(path, None)
                else:
                    facts[path] = old
        return facts

    def _is_unsure(self, facts: bytes) -> bool:
        return self._busy and facts[:1] in b"fl" and status_time_ns(facts) >= self._moment_ns


def _listed_path(item: tuple[bytes, bytes]) -> ListedPath:
    path, facts = item
    kind, size, _ = facts.split(b" ", 2)
    return ListedPath(os.fsdecode(path), _TYPES.get(kind[:1], "other"), int(kind[1:], 8), int(size))
