"""The state of a workspace as a mapping of paths to entries: snapshots are applied to it, two of them are compared.

No I/O and no content, only what is known of it. Paths are the record's texts (`trajectories.record.paths`); the
directory of the workspace itself is not in a manifest.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Literal

from trajectories.errors import RecordError
from trajectories.record.parts import Change
from trajectories.record.paths import components, parent_of


@dataclass(frozen=True, slots=True)
class PathState:
    """One path's state, None unknown; `size` in bytes, `link` a symbolic link's target as record text."""

    type: Literal["file", "directory", "symlink", "other"]
    mode: int | None = None
    size: int | None = None
    mtime_ns: int | None = None
    link: str | None = None
    sha256: str | None = None
    kept: bool = True

    @classmethod
    def of(cls, change: Change) -> PathState:
        """What a change says that there is now."""
        return cls(change.type, change.mode, change.size, change.mtime_ns, change.link, change.sha256, change.kept)

    @property
    def missing(self) -> str:
        """Why this path cannot be made again from the record; empty if it can."""
        if self.type == "other":
            return "neither a file nor a directory nor a link"
        if self.type == "symlink":
            return "" if self.link else "the link's target is not known"
        if self.type == "file":
            if self.sha256 is None:
                return "its content could not be read"
            if not self.kept:
                return f"its content was not kept ({self.size} bytes)"
        return ""


Manifest = dict[str, PathState]


@dataclass(frozen=True)
class Difference:
    """A path that two manifests do not agree on: its entry in the first and in the second, None where it is not."""

    path: str
    before: PathState | None
    after: PathState | None
    aspects: tuple[Literal["content", "type", "mode", "target", "unknown"], ...] = ()
    """Of a path in both, what differs; "unknown" if nothing says whether the contents are the same."""

    @property
    def change(self) -> Literal["added", "removed", "changed"]:
        return "added" if self.before is None else "removed" if self.after is None else "changed"


def apply(manifest: Manifest, changes: Iterable[Change]) -> None:
    """Bring a manifest from before a snapshot to after it; what contradicts it is done all the same.

    Raises: RecordError for a path that cannot be in a workspace.
    """
    for change in changes:
        components(change.path)
        if change.change == "deleted":
            manifest.pop(change.path, None)
        else:
            manifest[change.path] = PathState.of(change)


def contradictions(manifest: Manifest, changes: Iterable[Change]) -> Iterator[tuple[str, str]]:
    """(path, what is wrong) for each change that cannot follow on this manifest, applying them meanwhile."""
    seen: set[str] = set()
    here: list[str] = []
    directories: set[str] = set()
    """That were there before and changed."""
    for change in changes:
        path = change.path
        try:
            components(path)
        except RecordError as error:
            yield path, str(error)
            continue
        if path in seen:
            yield path, "changed twice in one snapshot"
        seen.add(path)
        before = manifest.get(path)
        if change.change == "created" and before is not None:
            yield path, "created, though it was there"
        elif change.change != "created" and before is None:
            yield path, f"{change.change}, though it was not there"
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
        yield change.path, "a kept file without its hash"
    if change.type == "file" and change.kept and change.size is None:
        yield change.path, "a kept file without its size"
    if change.type == "symlink" and change.link is None:
        yield change.path, "a symbolic link without its target"
    if change.size is not None and change.size < 0:
        yield change.path, f"a size of {change.size} bytes"


def _misplaced(manifest: Manifest, here: list[str], gone: set[str]) -> Iterator[tuple[str, str]]:
    for path in here:
        above = parent_of(path)
        if path in manifest and above and not _is_directory(manifest, above):
            yield path, "what it is in is no directory of the workspace"
    if gone:
        for path in manifest.keys() - set(here):
            if parent_of(path) in gone:
                yield path, "still there, though what it was in is no directory any more"


def _is_directory(manifest: Manifest, path: str) -> bool:
    entry = manifest.get(path)
    return entry is not None and entry.type == "directory"


def compare_manifests(before: Manifest, after: Manifest) -> list[Difference]:
    """Where two manifests differ, by path; times are not compared."""
    found = []
    for path in sorted(before.keys() | after.keys()):
        first, second = before.get(path), after.get(path)
        if first is None or second is None:
            found.append(Difference(path, first, second))
        elif first != second and (aspects := tuple(_aspects(first, second))):
            found.append(Difference(path, first, second, aspects))
    return found


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
    """Bytes of all its files together, as far as known."""
    return sum(entry.size or 0 for entry in manifest.values() if entry.type == "file")


def in_tree_order(manifest: Manifest) -> list[tuple[tuple[bytes, ...], str, PathState]]:
    """(names along the path, path, entry) so that all in a directory follows it directly.

    Raises: RecordError for a path in what is no directory: nothing is ever written through a link.
    """
    found = sorted((components(path), path, entry) for path, entry in manifest.items())
    for _, path, _ in found:
        above = parent_of(path)
        while above and above not in manifest:
            above = parent_of(above)
        if above and manifest[above].type != "directory":
            raise RecordError(f"{path!r} is in {above!r}, which is a {manifest[above].type} and no directory")
    return found
