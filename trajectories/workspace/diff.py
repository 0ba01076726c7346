"""Compares two recorded workspaces: of two steps of a trial, or of two trials.

Contents are compared by hash; lines are shown only of small text files, and only so many.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Literal

from pydantic import BaseModel

from trajectories.errors import RecordError
from trajectories.reading.reader import events_file
from trajectories.record.layout import WORKSPACE, TrialFolder
from trajectories.workspace.exported import archive_contents, archive_manifest
from trajectories.workspace.line_diff import unified
from trajectories.workspace.manifest import Difference, Manifest, PathState, compare_manifests, total_bytes
from trajectories.workspace.states import NoSnapshots, WorkspaceState, state_at

MOST_TEXT_BYTES = 256 << 10
"""Larger files are not compared line by line."""
_MOST_SHOWN = 4 << 20
"""Characters of line differences in all."""


class Side(BaseModel):
    """One of the two; `step` None where only the final workspace is known."""

    trial: str
    step: int | None
    files: int
    bytes: int


class ChangedPath(BaseModel):
    """A path that differs; sizes in bytes, None where it is no file or is not there."""

    path: str
    change: Literal["added", "removed", "changed"]
    type: str
    aspects: list[str] = []
    """Of a changed path: content, type, mode, target; unknown if nothing says whether the contents are the same."""
    size_before: int | None = None
    size_after: int | None = None
    mode_before: int | None = None
    mode_after: int | None = None
    lines: str | None = None
    """A unified diff, if it was asked for and the file is text."""
    no_lines: str = ""
    """Why there is none."""


class WorkspaceDiff(BaseModel):
    """All that differs, by path; `equal` if nothing does. Times of files are not compared."""

    a: Side
    b: Side
    equal: bool
    added: int
    removed: int
    changed: int
    differences: list[ChangedPath]


class Workspace:
    """A trial's workspace after a step, else the final one that was exported.

    Raises: RecordError if the trial has neither, or not that step.
    """

    def __init__(self, trial: Path, step: int | None) -> None:
        self.trial = events_file(trial).parent
        self._state: WorkspaceState | None = None
        self.step: int | None = None
        try:
            self._state = state_at(trial, step)
            self.manifest: Manifest = self._state.manifest
            self.step = self._state.step
        except NoSnapshots as none:
            if step is not None:
                raise
            if not TrialFolder(self.trial).workspace.is_file():
                raise RecordError(f"{none}, and there is no {WORKSPACE}: nothing to compare") from None
            self.manifest = archive_manifest(TrialFolder(self.trial).workspace)

    def contents(self, paths: Iterable[str]) -> dict[str, bytes]:
        """The contents of these paths, as far as they are known and not large.

        Raises: RecordError for a damaged blob.
        """
        if self._state is None:
            return archive_contents(TrialFolder(self.trial).workspace, set(paths), MOST_TEXT_BYTES)
        found = {}
        for path in paths:
            entry = self.manifest[path]
            if entry.sha256 is not None and not entry.missing and (entry.size or 0) <= MOST_TEXT_BYTES:
                found[path] = self._state.blobs.get(entry.sha256, MOST_TEXT_BYTES)
        return found

    @property
    def side(self) -> Side:
        files = sum(entry.type == "file" for entry in self.manifest.values())
        return Side(trial=str(self.trial), step=self.step, files=files, bytes=total_bytes(self.manifest))


def diff(before: Workspace, after: Workspace, *, content: bool = False) -> WorkspaceDiff:
    """What differs; with `content`, also the lines of text files.

    Raises: RecordError for contents that cannot be read.
    """
    found = compare_manifests(before.manifest, after.manifest)
    changes = [_changed(one) for one in found]
    if content:
        _show_lines(before, after, found, changes)
    kinds = [one.change for one in found]
    return WorkspaceDiff(
        a=before.side,
        b=after.side,
        equal=not found,
        added=kinds.count("added"),
        removed=kinds.count("removed"),
        changed=kinds.count("changed"),
        differences=changes,
    )


def _changed(one: Difference) -> ChangedPath:
    entry = one.after or one.before
    assert entry is not None
    return ChangedPath(
        path=one.path,
        change=one.change,
        type=entry.type,
        aspects=list(one.aspects),
        size_before=_size(one.before),
        size_after=_size(one.after),
        mode_before=one.before.mode if one.before else None,
        mode_after=one.after.mode if one.after else None,
    )


def _size(entry: PathState | None) -> int | None:
    return entry.size if entry is not None and entry.type == "file" else None


def _show_lines(before: Workspace, after: Workspace, found: list[Difference], changes: list[ChangedPath]) -> None:
    with_lines = [one for one in found if one.change != "changed" or {"content", "type"} & set(one.aspects)]
    first = before.contents([one.path for one in with_lines if one.before and one.before.type == "file"])
    second = after.contents([one.path for one in with_lines if one.after and one.after.type == "file"])
    places = {change.path: change for change in changes}
    left = _MOST_SHOWN
    for one in with_lines:
        change = places[one.path]
        sides = (one.before, first), (one.after, second)
        if all(entry is None or entry.type != "file" for entry, _ in sides):
            continue
        texts = []
        for entry, contents in sides:
            data = b"" if entry is None or entry.type != "file" else contents.get(one.path)
            if data is None:
                assert entry is not None
                change.no_lines = entry.missing or f"more than {MOST_TEXT_BYTES >> 10} KiB"
            elif (text := _text(data)) is None:
                change.no_lines = "binary"
            else:
                texts.append(text)
        if not change.no_lines and left <= 0:
            change.no_lines = "too much is shown already"
        if not change.no_lines:
            change.lines = unified(texts[0], texts[1], one.path, one.before is not None, one.after is not None)
            left -= len(change.lines)


def _text(data: bytes) -> str | None:
    if b"\0" in data:
        return None
    try:
        return data.decode()
    except UnicodeDecodeError:
        return None
