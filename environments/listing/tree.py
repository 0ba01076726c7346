"""A listing as a tree that takes in what was seen since: in place, at the cost of what changed. No I/O.

Seen are all paths whose status time is new, and of each directory among them all that is in it now. This tells
everything but what is in a directory that came from elsewhere, whose content keeps its times: then, and whenever
what was seen does not fit to what was known, it is `Unclear`, and everything has to be listed.
"""

from __future__ import annotations

from collections.abc import Iterable


class Unclear(Exception):
    """What was seen does not tell all that changed."""


def _plain(path: bytes) -> bytes:
    """As find names what it was told to begin with, relative to the workspace."""
    return b"" if path == b"." else path.removeprefix(b"./")


class Tree:
    """`facts` by path: a record of `supervisor/52-listing.sh` without its path."""

    def __init__(self, records: Iterable[bytes]) -> None:
        self.facts: dict[bytes, bytes] = {}
        self._within: dict[bytes, set[bytes]] = {b"": set()}
        """The paths in each directory."""
        for record in records:
            facts, path = split(record)
            self.facts[path] = facts
            self._within.setdefault(path.rpartition(b"/")[0], set()).add(path)

    def take_in(self, seen: bytes) -> dict[bytes, bytes | None]:
        """Come from the moment before to that of `seen`; what was there before, None nothing, at each path looked at.

        Raises: Unclear; then nothing has changed.
        """
        before: dict[bytes, bytes | None] = {}
        try:
            self._take_in(seen, before)
        except BaseException:
            for path, facts in before.items():
                self._put(path, facts)
            raise
        return before

    def _take_in(self, seen: bytes, before: dict[bytes, bytes | None]) -> None:
        changed, _, listed = seen.partition(b"\0\0")
        news = [(facts, _plain(path)) for facts, path in map(split, filter(None, changed.split(b"\0")))]
        inside: dict[bytes, dict[bytes, bytes]] = {path: {} for facts, path in news if is_directory(facts)}
        for record in listed.split(b"\0"):
            if record:
                facts, path = split(record)
                path = path.removeprefix(b"./")
                parent = path.rpartition(b"/")[0]
                if parent not in inside:
                    raise Unclear(f"{path!r} is in no directory that was gone through")
                inside[parent][path] = facts
        for facts, path in news:  # what is above comes first
            old = self.facts.get(path)
            if path and path.rpartition(b"/")[0] in inside:  # its record there is the later one
                before.setdefault(path, old)
            elif path:
                if old is None or not _same_kind(old, facts):
                    raise Unclear(f"{path!r} is new in a directory that is not")
                before.setdefault(path, old)
                self._put(path, facts)
            if is_directory(facts):
                if path and not is_directory(self.facts.get(path, b"")):
                    raise Unclear(f"{path!r} was a directory just now")
                self._replace(path, inside, before)

    def _replace(
        self, directory: bytes, inside: dict[bytes, dict[bytes, bytes]], before: dict[bytes, bytes | None]
    ) -> None:
        """Its content is now this."""
        now = inside[directory]
        for path in self._within.get(directory, set()) - now.keys():
            self._drop(path, before)
        for path, facts in now.items():
            old = self.facts.get(path)
            if old == facts:
                continue
            known = old is not None and _same_kind(old, facts)
            if is_directory(facts) and not known and path not in inside:
                raise Unclear(f"{path!r} is a directory from elsewhere")
            if old is not None and is_directory(old) and not known:
                self._drop(path, before)
            before.setdefault(path, old)
            self._put(path, facts)

    def _drop(self, path: bytes, before: dict[bytes, bytes | None]) -> None:
        todo = [path]
        while todo:
            one = todo.pop()
            todo.extend(self._within.get(one, ()))
            before.setdefault(one, self.facts[one])
            self._put(one, None)

    def _put(self, path: bytes, facts: bytes | None) -> None:
        parent = path.rpartition(b"/")[0]
        if facts is not None:
            self.facts[path] = facts
            self._within.setdefault(parent, set()).add(path)
        elif self.facts.pop(path, None) is not None:
            there = self._within[parent]
            there.discard(path)
            if not there and parent:
                del self._within[parent]


def split(record: bytes) -> tuple[bytes, bytes]:
    """A record's facts and its path."""
    path = record.split(b" ", 4)[4]
    return record[: len(record) - len(path) - 1], path


def is_directory(facts: bytes) -> bool:
    return facts.startswith(b"d")


def _same_kind(old: bytes, new: bytes) -> bool:
    """Of directories: whether it is the very same one."""
    if is_directory(old) or is_directory(new):
        return old[:1] == new[:1] and old.split(b" ")[2] == new.split(b" ")[2]
    return True
