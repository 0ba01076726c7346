"""Compares two recorded workspaces: of two steps of a trial, or of two trials.

Contents are compared by hash. Lines are shown for small text files only, up to a total length.
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
"""Largest file that is compared line by line."""
_MOST_SHOWN = 4 << 20
"""Most characters of all line differences together."""


class Side(BaseModel):
    """One of the two workspaces."""

    trial: str
    """Directory of the trial."""
    step: int | None
    """Step after which the workspace was like this. None if only the final workspace is known."""
    files: int
    """Number of files."""
    bytes: int
    """Size of all files together."""


class ChangedPath(BaseModel):
    """A path that differs. Sizes are in bytes, and None if the path is not a file or does not exist."""

    path: str
    change: Literal["added", "removed", "changed"]
    type: str
    aspects: list[str] = []
    """Properties of a changed path that differ: content, type, mode, target.

    `unknown` means that the contents cannot be compared.
    """
    size_before: int | None = None
    size_after: int | None = None
    mode_before: int | None = None
    mode_after: int | None = None
    lines: str | None = None
    """Unified diff, if it was requested and the file is text."""
    no_lines: str = ""
    """Reason for which there is no diff."""


class WorkspaceDiff(BaseModel):
    """The differences between two workspaces, sorted by path. Times of files are not compared."""

    a: Side
    b: Side
    equal: bool
    added: int
    removed: int
    changed: int
    differences: list[ChangedPath]


class Workspace:
    """The workspace of a trial after a step. Without snapshots, it is the exported one.

    Raises: RecordError if the trial has neither, or lacks that step.
    """

    def __init__(self, trial: Path, step: int | None) -> None:
        self.trial = events_file(trial).parent
        self._state: WorkspaceState | None = None
        self.step: int | None = None
        try:
            self._state = state_at(trial, step)
            self.manifest: Manifest = self._state.manifest
            self.step = self._state.step
        except NoSnapshots as error:
            if step is not None:
                raise
            if not TrialFolder(self.trial).workspace.is_file():
                raise RecordError(f"{error}, and there is no {WORKSPACE} to compare") from None
            self.manifest = archive_manifest(TrialFolder(self.trial).workspace)

    def contents(self, paths: Iterable[str]) -> dict[str, bytes]:
        """Return the contents of these paths, as far as they are known and not large.

        Raises: RecordError for a damaged blob.
        """
        if self._state is None:
            return archive_contents(TrialFolder(self.trial).workspace, set(paths), MOST_TEXT_BYTES)
        contents = {}
        for path in paths:
            entry = self.manifest[path]
            if entry.sha256 is not None and not entry.missing and (entry.size or 0) <= MOST_TEXT_BYTES:
                contents[path] = self._state.blobs.get(entry.sha256, MOST_TEXT_BYTES)
        return contents

    @property
    def side(self) -> Side:
        files = sum(entry.type == "file" for entry in self.manifest.values())
        return Side(trial=str(self.trial), step=self.step, files=files, bytes=total_bytes(self.manifest))


def diff(before: Workspace, after: Workspace, *, content: bool = False) -> WorkspaceDiff:
    """Return the differences between two workspaces, with `content` also those of the lines of text files.

    Raises: RecordError for contents that cannot be read.
    """
    differences = compare_manifests(before.manifest, after.manifest)
    changes = [_changed(difference) for difference in differences]
    if content:
        _show_lines(before, after, differences, changes)
    kinds = [difference.change for difference in differences]
    return WorkspaceDiff(
        a=before.side,
        b=after.side,
        equal=not differences,
        added=kinds.count("added"),
        removed=kinds.count("removed"),
        changed=kinds.count("changed"),
        differences=changes,
    )


def _changed(difference: Difference) -> ChangedPath:
    entry = difference.after or difference.before
    assert entry is not None
    return ChangedPath(
        path=difference.path,
        change=difference.change,
        type=entry.type,
        aspects=list(difference.aspects),
        size_before=_size(difference.before),
        size_after=_size(difference.after),
        mode_before=difference.before.mode if difference.before else None,
        mode_after=difference.after.mode if difference.after else None,
    )


def _size(entry: PathState | None) -> int | None:
    return entry.size if entry is not None and entry.type == "file" else None


def _show_lines(before: Workspace, after: Workspace, differences: list[Difference], changes: list[ChangedPath]) -> None:
    with_lines = [
        (difference.path, difference.before, difference.after, change)
        for difference, change in zip(differences, changes, strict=True)
        if difference.change != "changed" or {"content", "type"} & set(difference.aspects)
    ]
    first = before.contents([path for path, old, _, _ in with_lines if old and old.type == "file"])
    second = after.contents([path for path, _, new, _ in with_lines if new and new.type == "file"])
    left = _MOST_SHOWN
    for path, old, new, change in with_lines:
        sides = (old, first), (new, second)
        if all(entry is None or entry.type != "file" for entry, _ in sides):
            continue
        texts = []
        for entry, contents in sides:
            data = b"" if entry is None or entry.type != "file" else contents.get(path)
            if data is None:
                assert entry is not None
                change.no_lines = entry.missing or f"more than {MOST_TEXT_BYTES >> 10} KiB"
            elif (text := _text(data)) is None:
                change.no_lines = "binary"
            else:
                texts.append(text)
        if not change.no_lines and left <= 0:
            change.no_lines = "the other diffs are long enough"
        if not change.no_lines:
            change.lines = unified(texts[0], texts[1], path, old is not None, new is not None)
            left -= len(change.lines)


def _text(data: bytes) -> str | None:
    if b"\0" in data:
        return None
    try:
        return data.decode()
    except UnicodeDecodeError:
        return None
