"""The recorded workspace and the replayed one side by side, step by step: where they differ."""

from __future__ import annotations

import os
import tarfile
from collections.abc import Iterable, Mapping

from agent.trial.snapshots import ignored
from environments.archives.chunks import as_file
from environments.listing.listing import Changed, Listing
from environments.protocol import Environment
from trajectories.record.events import Change
from trajectories.record.paths import to_text
from trajectories.workspace.manifest import Manifest, PathState, apply, compare_manifests


class Workspaces:
    """Only what changes is read and compared.

    Raises: EnvironmentLost, RecordError.
    """

    def __init__(self, environment: Environment, recorded: Manifest, *, alike: bool = True) -> None:
        """`alike`: both are known to be the same now."""
        self._environment = environment
        self._recorded = dict(recorded)
        self._mark: Listing = environment.listing()
        self._replayed = dict(recorded) if alike else dict(whole(environment))
        self._differing = {one.path for one in compare_manifests(self._recorded, self._replayed)}
        self._touched: dict[str, Changed] = {}
        """What changed in the replay since the last step, by path."""
        self._by: dict[str, str] = {}
        """Which action of the last step changed a path last, as far as that was noted."""
        self._noted: dict[str, str] = {}

    @property
    def differing(self) -> list[str]:
        """The paths that differ now."""
        return sorted(self._differing)

    def note(self, action: str) -> None:
        """Note what this action changed: of a step with several of them."""
        listing = self._environment.listing()
        for one in listing.since(self._mark):
            if not ignored(one.entry.path):
                self._touched[one.entry.path] = one
                self._noted[to_text(os.fsencode(one.entry.path))] = action
        self._mark = listing

    def by(self, path: str) -> str | None:
        """The action that changed a path in the step that was taken in last, if that is known."""
        return self._by.get(path)

    def step(self, changes: Iterable[Change]) -> list[str]:
        """Take in what a recorded step changed and what its replay did; the paths that differ now."""
        changes = tuple(changes)
        listing = self._environment.listing()
        changed = self._touched
        for one in listing.since(self._mark):
            if not ignored(one.entry.path):
                changed[one.entry.path] = one
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
            self._differing = (self._differing - touched) | {one.path for one in differences}
        return self.differing


def whole(environment: Environment) -> Manifest:
    """All of a workspace as it is now."""
    found = [Changed("created", entry) for entry in environment.listing().entries() if not ignored(entry.path)]
    return {path: entry for path, entry in states(environment, found).items() if entry is not None}


def states(environment: Environment, changed: Iterable[Changed]) -> dict[str, PathState | None]:
    """What there is now at changed paths, None where nothing is; contents by their hash."""
    there = {one.entry.path: one.entry for one in changed if one.change != "deleted"}
    digests = environment.digests([path for path, entry in there.items() if entry.type == "file"])
    links = _links(environment, [path for path, entry in there.items() if entry.type == "symlink"])
    found: dict[str, PathState | None] = {to_text(os.fsencode(one.entry.path)): None for one in changed}
    for path, entry in there.items():
        size = entry.size if entry.type == "file" else None
        found[to_text(os.fsencode(path))] = PathState(
            entry.type, entry.mode, size, link=links.get(path), sha256=digests.get(path)
        )
    return found


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
