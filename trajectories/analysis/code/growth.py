"""The growth of a workspace's code, step by step, from snapshots.

A line of code is a line that is not blank, in a file that `languages` considers source. It belongs to the step that
first wrote it: a line that a step removes in one place and inserts in another (a renamed file, a moved function) does
not count as written again. Lines are compared without their trailing white space.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from trajectories.analysis.code.languages import ignored, language, may_be_source
from trajectories.record.events import Change

_Line = tuple[bytes, int]
"""A line and the step that wrote it."""


@dataclass
class Growth:
    """Measures the code from snapshots in order; the work is proportional to the size of what a step changed."""

    content_of: Callable[[Change], bytes | None]
    lines: int = 0
    """Lines of code after the last snapshot."""
    lines_after: dict[int, int] = field(default_factory=dict)
    """Lines of code after each step that has a snapshot."""
    written: Counter[int] = field(default_factory=Counter)
    """Number of lines that each step wrote, including those that were removed later."""
    unread: int = 0
    """Number of contents that may be source and could not be read: not kept, too large, missing or damaged."""
    files: dict[str, Change] = field(default_factory=dict)
    """Regular files after the last snapshot, by path."""
    created: set[str] = field(default_factory=set)
    modified: set[str] = field(default_factory=set)
    deleted: set[str] = field(default_factory=set)
    _sources: dict[str, list[_Line]] = field(default_factory=dict)

    def feed(self, changes: Iterable[Change], step: int) -> None:
        """Process the changes of one step; step 0 is the initial state."""
        loose: dict[bytes, list[int]] = defaultdict(list)
        unmatched: list[tuple[list[_Line], list[int]]] = []
        for change in changes:
            before = self.files.get(change.path)
            if ignored(change.path) or (change.type != "file" and before is None):
                continue
            gone = change.change == "deleted" or change.type != "file"
            if gone:
                self.files.pop(change.path, None)
            else:
                self.files[change.path] = change
                if before is not None and before.sha256 == change.sha256 is not None:
                    continue  # only its mode or time changed
            self._count(change, step)
            old = self._sources.pop(change.path, [])
            new = None if gone else self._source_lines(change)
            self.lines += len(new or ()) - len(old)
            lines, missing, left = _matched(old, new or [], step)
            if new is not None:
                self._sources[change.path] = lines
                unmatched.append((lines, missing))
            for line, origins in left.items():
                loose[line] += origins
        for lines, missing in unmatched:
            for at in missing:
                moved = loose.get(lines[at][0])
                if moved:
                    lines[at] = (lines[at][0], moved.pop())
                else:
                    self.written[step] += 1
        self.lines_after[step] = self.lines

    def surviving(self) -> Counter[int]:
        """Count the present lines of code by the step that wrote them."""
        return Counter(step for lines in self._sources.values() for _, step in lines)

    def curve(self, steps: int, points: int = 101) -> list[int]:
        """Return the lines of code at evenly spaced points, from before the first step to after the last."""
        after, now = [], 0
        for step in range(steps + 1):
            now = self.lines_after.get(step, now)
            after.append(now)
        return [after[steps * point // (points - 1)] for point in range(points)]

    def _count(self, change: Change, step: int) -> None:
        if step == 0 or change.type != "file":
            return
        {"created": self.created, "modified": self.modified, "deleted": self.deleted}[change.change].add(change.path)

    def _source_lines(self, change: Change) -> list[bytes] | None:
        if not may_be_source(change.path):
            return None
        content = self.content_of(change)
        if content is None:
            self.unread += 1
            return None
        if language(change.path, content) is None:
            return None
        return [line for line in (raw.rstrip() for raw in content.split(b"\n")) if line]


def _matched(old: list[_Line], new: list[bytes], step: int) -> tuple[list[_Line], list[int], dict[bytes, list[int]]]:
    """Match a file's new lines with its old ones.

    Return the new lines with the steps that wrote them; the indices of those that are not among the old lines, which
    count as this step's for now; and the unmatched old lines with the steps that wrote them.
    """
    shorter = min(len(old), len(new))
    begin = 0
    while begin < shorter and old[begin][0] == new[begin]:
        begin += 1
    end = 0
    while end < shorter - begin and old[-1 - end][0] == new[-1 - end]:
        end += 1
    left: dict[bytes, list[int]] = defaultdict(list)
    for line, origin in old[begin : len(old) - end]:
        left[line].append(origin)
    lines, missing = old[:begin], []
    for line in new[begin : len(new) - end]:
        origins = left.get(line)
        if not origins:
            missing.append(len(lines))
        lines.append((line, origins.pop() if origins else step))
    return lines + old[len(old) - end :], missing, left
