"""A listing as a tree that takes in, in place, what changed since the listing before. No I/O.

What was seen since then is: every path whose status time is new, and for each directory among them its complete
content. That tells everything, except what is in a directory that came from elsewhere, whose content keeps its times.
Then, and whenever what was seen contradicts what was known, the tree raises `Unclear`, and everything is listed anew.
`listing.py` has an example.
"""

from __future__ import annotations

from collections.abc import Iterable

from environments.listing.records import is_directory, same_kind, split


class Unclear(Exception):
    """Raised if the records do not tell everything that changed."""


def _plain(path: bytes) -> bytes:
    """Return a path relative to the workspace, as find names it if it starts from `.` or from `./NAME`."""
    return b"" if path == b"." else path.removeprefix(b"./")


class Tree:
    """The facts of all paths at one moment, and which paths each directory holds."""

    def __init__(self, records: Iterable[bytes]) -> None:
        self.facts: dict[bytes, bytes] = {}
        """The facts of each path: its record without the path."""
        self._within: dict[bytes, set[bytes]] = {b"": set()}
        """The paths in each directory."""
        for record in records:
            facts, path = split(record)
            self.facts[path] = facts
            self._within.setdefault(path.rpartition(b"/")[0], set()).add(path)

    def take_in(self, seen: bytes) -> dict[bytes, bytes | None]:
        """Move the tree on to the moment of `seen`.

        Return the facts before that of each path that was looked at, None for a path that did not exist.

        Raises: Unclear; the tree is then as it was.
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
        changed, _, contents = seen.partition(b"\0\0")
        news = [(facts, _plain(path)) for facts, path in map(split, filter(None, changed.split(b"\0")))]
        content_of: dict[bytes, dict[bytes, bytes]] = {path: {} for facts, path in news if is_directory(facts)}
        for record in contents.split(b"\0"):
            if record:
                facts, path = split(record)
                path = path.removeprefix(b"./")
                parent = path.rpartition(b"/")[0]
                if parent not in content_of:
                    raise Unclear(f"{path!r} is in a directory that was not gone through")
                content_of[parent][path] = facts
        for facts, path in news:  # a directory comes before its content
            old = self.facts.get(path)
            if path and path.rpartition(b"/")[0] in content_of:  # its record there is the later one
                before.setdefault(path, old)
            elif path:
                if old is None or not same_kind(old, facts):
                    raise Unclear(f"{path!r} is new in a directory that did not change")
                before.setdefault(path, old)
                self._put(path, facts)
            if is_directory(facts):
                if path and not is_directory(self.facts.get(path, b"")):
                    raise Unclear(f"{path!r} was a directory just now")
                self._replace(path, content_of, before)

    def _replace(
        self, directory: bytes, content_of: dict[bytes, dict[bytes, bytes]], before: dict[bytes, bytes | None]
    ) -> None:
        """Make the content of a directory what was seen in it."""
        content = content_of[directory]
        for path in self._within.get(directory, set()) - content.keys():
            self._drop(path, before)
        for path, facts in content.items():
            old = self.facts.get(path)
            if old == facts:
                continue
            was_here = old is not None and same_kind(old, facts)
            if is_directory(facts) and not was_here and path not in content_of:
                raise Unclear(f"{path!r} is a directory from elsewhere")
            if old is not None and is_directory(old) and not was_here:
                self._drop(path, before)
            before.setdefault(path, old)
            self._put(path, facts)

    def _drop(self, path: bytes, before: dict[bytes, bytes | None]) -> None:
        """Remove a path and everything below it."""
        remaining = [path]
        while remaining:
            dropped = remaining.pop()
            remaining.extend(self._within.get(dropped, ()))
            before.setdefault(dropped, self.facts[dropped])
            self._put(dropped, None)

    def _put(self, path: bytes, facts: bytes | None) -> None:
        """Set the facts of a path; None removes it."""
        parent = path.rpartition(b"/")[0]
        if facts is not None:
            self.facts[path] = facts
            self._within.setdefault(parent, set()).add(path)
        elif self.facts.pop(path, None) is not None:
            siblings = self._within[parent]
            siblings.discard(path)
            if not siblings and parent:
                del self._within[parent]
