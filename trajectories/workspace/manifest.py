"""The state of a workspace as a mapping from paths to their states. Snapshots are applied to it, and two are compared.

It holds no contents, only sizes and hashes, and does no I/O. Paths are texts of the record
(`trajectories.record.texts.paths`). The directory of the workspace itself is not in a manifest.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from trajectories.errors import RecordError
from trajectories.record.parts import Change, Skipped
from trajectories.record.texts.paths import components, parent_of


@dataclass(frozen=True, slots=True)
class PathState:
    """The state of one path. None is unknown."""

    type: Literal["file", "directory", "symlink", "other"]
    mode: int | None = None
    """Permission bits."""
    size: int | None = None
    """Size of a file in bytes."""
    mtime_ns: int | None = None
    """Time of the last modification, in nanoseconds since 1970."""
    link: str | None = None
    """Target of a symbolic link, as a text of the record."""
    sha256: str | None = None
    """sha256 of a file's content."""
    kept: bool = True
    """False if the record does not hold the content."""

    @classmethod
    def of(cls, change: Change) -> PathState:
        """Return the state of a path after a change."""
        return cls(change.type, change.mode, change.size, change.mtime_ns, change.link, change.sha256, change.kept)

    @property
    def missing(self) -> str:
        """Reason for which this path cannot be restored from the record. Empty if it can."""
        if self.type == "other":
            return "neither a file nor a directory nor a link"
        if self.type == "symlink":
            return "" if self.link else "the link's target is not known"
        if self.type == "file":
            if self.sha256 is None:
                return f"its content was not read ({self.size} bytes)"
            if not self.kept:
                return f"its content was not kept ({self.size} bytes)"
        return ""


Manifest = dict[str, PathState]


@dataclass(frozen=True)
class Difference:
    """A path that differs between two manifests."""

    path: str
    before: PathState | None
    """State in the first manifest. None if the path is not in it."""
    after: PathState | None
    """State in the second manifest. None if the path is not in it."""
    aspects: tuple[Literal["content", "type", "mode", "target", "unknown"], ...] = ()
    """Properties that differ, for a path in both manifests. `unknown`: the contents cannot be compared."""

    @property
    def change(self) -> Literal["added", "removed", "changed"]:
        return "added" if self.before is None else "removed" if self.after is None else "changed"


def apply(manifest: Manifest, changes: Iterable[Change]) -> None:
    """Apply the changes of a snapshot to a manifest, also those that contradict it.

    Raises: RecordError for a path that is not a plain path below the workspace.
    """
    for change in changes:
        components(change.path)
        if change.change == "deleted":
            manifest.pop(change.path, None)
        else:
            manifest[change.path] = PathState.of(change)


def contradictions(manifest: Manifest, changes: Iterable[Change]) -> Iterator[tuple[str, str]]:
    """Apply changes to a manifest, and yield the path and the description of each contradiction."""
    seen: set[str] = set()
    here: list[str] = []
    directories: set[str] = set()
    """Paths that were directories and that changed."""
    for change in changes:
        path = change.path
        try:
            components(path)
        except RecordError as error:
            yield path, str(error)
            continue
        if path in seen:
            yield path, "it changes twice in one snapshot"
        seen.add(path)
        before = manifest.get(path)
        if change.change == "created" and before is not None:
            yield path, "it is created, but existed"
        elif change.change != "created" and before is None:
            yield path, f"it is {change.change}, but did not exist"
        if before is not None and before.type == "directory":
            directories.add(path)
        if change.change == "deleted":
            manifest.pop(path, None)
        else:
            here.append(path)
            manifest[path] = PathState.of(change)
            yield from _incomplete(change)
    yield from _misplaced(manifest, here, {path for path in directories if not _is_directory(manifest, path)})


def _incomplete(change: Change) -> Iterator[tuple[str, str]]:
    if change.type == "file" and change.kept and change.sha256 is None:
        yield change.path, "a kept file has no hash"
    if change.type == "file" and change.kept and change.size is None:
        yield change.path, "a kept file has no size"
    if change.type == "symlink" and change.link is None:
        yield change.path, "a symbolic link has no target"
    if change.size is not None and change.size < 0:
        yield change.path, f"its size is {change.size} bytes"


def _misplaced(manifest: Manifest, here: list[str], gone: set[str]) -> Iterator[tuple[str, str]]:
    for path in here:
        above = parent_of(path)
        if path in manifest and above and not _is_directory(manifest, above):
            yield path, "its parent is not a directory of the workspace"
    if gone:
        for path in manifest.keys() - set(here):
            if parent_of(path) in gone:
                yield path, "it still exists, but its parent is no longer a directory"


def _is_directory(manifest: Manifest, path: str) -> bool:
    entry = manifest.get(path)
    return entry is not None and entry.type == "directory"


def compare_manifests(before: Manifest, after: Manifest) -> list[Difference]:
    """Return the differences between two manifests, sorted by path. Times are not compared."""
    differences = []
    for path in sorted(before.keys() | after.keys()):
        first, second = before.get(path), after.get(path)
        if first is None or second is None:
            differences.append(Difference(path, first, second))
        elif first != second and (aspects := tuple(_aspects(first, second))):
            differences.append(Difference(path, first, second, aspects))
    return differences


def _aspects(first: PathState, second: PathState) -> Iterator[Literal["content", "type", "mode", "target", "unknown"]]:
    if first.type != second.type:
        yield "type"
        return
    if first.type == "file":
        if first.sha256 is not None and second.sha256 is not None:
            if first.sha256 != second.sha256:
                yield "content"
        elif first.size != second.size:
            yield "content"
        else:
            yield "unknown"
    if first.type == "symlink" and first.link != second.link:
        yield "target"
    if first.type != "symlink" and first.mode != second.mode and None not in (first.mode, second.mode):
        yield "mode"


def total_bytes(manifest: Manifest) -> int:
    """Return the size of all files together in bytes, as far as it is known."""
    return sum(entry.size or 0 for entry in manifest.values() if entry.type == "file")


def in_one_line(skipped: Sequence[Skipped]) -> str:
    """Return the first path with its reason, and the number of the others; an empty text if there are none."""
    if not skipped:
        return ""
    more = f" (and {len(skipped) - 1} more)" if len(skipped) > 1 else ""
    return f"{skipped[0].path}: {skipped[0].why}{more}"


def in_tree_order(manifest: Manifest) -> list[tuple[tuple[bytes, ...], str, PathState]]:
    """Return (names along the path, path, state) so that the content of a directory directly follows it.

    Raises: RecordError for a path below something else than a directory. Nothing is ever written through a link.
    """
    ordered = sorted((components(path), path, entry) for path, entry in manifest.items())
    for _, path, _ in ordered:
        above = parent_of(path)
        while above and above not in manifest:
            above = parent_of(above)
        if above and manifest[above].type != "directory":
            raise RecordError(f"{path!r} is below {above!r}, which is a {manifest[above].type} and not a directory")
    return ordered
