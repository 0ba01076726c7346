"""The recorded workspace and the replayed one side by side, step by step, and the paths that differ."""

from __future__ import annotations

import os
import tarfile
from collections.abc import Iterable, Mapping

from agent.trial.snapshots import ignored
from environments.archives.chunks import as_file
from environments.listing.listing import Changed, Listing
from environments.protocol import Environment
from trajectories.record.events import Change
from trajectories.record.texts.paths import to_text
from trajectories.workspace.manifest import Manifest, PathState, apply, compare_manifests
from trajectories.workspace.snapshot_bounds import SNAPSHOT_BYTES


class Workspaces:
    """Both workspaces; only paths that change are read and compared.

    Raises: EnvironmentLost, RecordError.
    """

    def __init__(self, environment: Environment, recorded: Manifest, *, alike: bool = True) -> None:
        """Begin with both as they are now; `alike` is True if they are known to be equal."""
        self._environment = environment
        self._recorded = dict(recorded)
        self._mark: Listing = environment.listing()
        self._replayed = dict(recorded) if alike else dict(whole(environment))
        self._differing = {difference.path for difference in compare_manifests(self._recorded, self._replayed)}
        self._touched: dict[str, Changed] = {}
        """Changes in the replay since the last step, by path."""
        self._by: dict[str, str] = {}
        """The action of the last step that changed a path last, as far as that was noted."""
        self._noted: dict[str, str] = {}

    @property
    def differing(self) -> list[str]:
        """Paths that differ now."""
        return sorted(self._differing)

    def note(self, action: str) -> None:
        """Note the changes of this action, in a step with several of them."""
        listing = self._environment.listing()
        for change in listing.since(self._mark):
            if not ignored(change.entry.path):
                self._touched[change.entry.path] = change
                self._noted[to_text(os.fsencode(change.entry.path))] = action
        self._mark = listing

    def by(self, path: str) -> str | None:
        """Return the action of the last step that changed a path, if that is known."""
        return self._by.get(path)

    def step(self, changes: Iterable[Change]) -> list[str]:
        """Take in the changes of a recorded step and those of its replay; return the paths that differ now."""
        changes = tuple(changes)
        listing = self._environment.listing()
        changed = self._touched
        for change in listing.since(self._mark):
            if not ignored(change.entry.path):
                changed[change.entry.path] = change
        self._mark, self._touched = listing, {}
        self._by, self._noted = self._noted, {}
        apply(self._recorded, changes)
        touched = {change.path for change in changes}
        for path, entry in states(self._environment, changed.values()).items():
            touched.add(path)
            if entry is None:
                self._replayed.pop(path, None)
            else:
                self._replayed[path] = entry
        if touched:
            differences = compare_manifests(_only(self._recorded, touched), _only(self._replayed, touched))
            self._differing = (self._differing - touched) | {difference.path for difference in differences}
        return self.differing


def whole(environment: Environment) -> Manifest:
    """Return the state of a whole workspace now."""
    created = [Changed("created", entry) for entry in environment.listing().entries() if not ignored(entry.path)]
    return {path: entry for path, entry in states(environment, created).items() if entry is not None}


def states(environment: Environment, changed: Iterable[Changed]) -> dict[str, PathState | None]:
    """Return the state of changed paths now, contents by their hash; None for a path that is gone."""
    changed = list(changed)
    there = {change.entry.path: change.entry for change in changed if change.change != "deleted"}
    files = [path for path, entry in there.items() if entry.type == "file" and entry.size <= SNAPSHOT_BYTES]
    digests = environment.digests(files)  # no record has the hash of a larger one
    links = _links(environment, [path for path, entry in there.items() if entry.type == "symlink"])
    entries: dict[str, PathState | None] = {to_text(os.fsencode(change.entry.path)): None for change in changed}
    for path, entry in there.items():
        size = entry.size if entry.type == "file" else None
        entries[to_text(os.fsencode(path))] = PathState(
            entry.type, entry.mode, size, link=links.get(path), sha256=digests.get(path)
        )
    return entries


def _links(environment: Environment, paths: list[str]) -> dict[str, str]:
    if not paths:
        return {}
    stream = as_file(environment.get_files(paths))
    with tarfile.open(fileobj=stream, mode="r|", encoding="utf-8", errors="surrogateescape") as archive:
        return {
            member.name.removeprefix("./"): to_text(os.fsencode(member.linkname))
            for member in archive
            if member.issym()
        }


def _only(manifest: Mapping[str, PathState], paths: Iterable[str]) -> Manifest:
    return {path: manifest[path] for path in paths if path in manifest}
