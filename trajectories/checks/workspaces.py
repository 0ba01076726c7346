"""Snapshots fit to each other, their contents exist, and an exported archive has the recorded hash."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from trajectories.checks.contents import Contents, file_sha256
from trajectories.record.events import CallFinished, EvaluationStarted, Event, Resumed, Snapshot, WorkspaceExported
from trajectories.workspace.manifest import Manifest, contradictions


class Workspaces:
    """Rule `workspaces`. After `resumed`, a step's snapshot may be followed by one of the same step."""

    name = "workspaces"

    def __init__(self, directory: Path, contents: Contents) -> None:
        self._directory = directory
        self._contents = contents
        self._manifest: Manifest = {}
        self._steps = 0
        self._snapshot = -1
        self._resumed = False
        self._exported: dict[str, WorkspaceExported] = {}
        self._hashes: set[str] = set()

    def feed(self, event: Event) -> Iterator[str]:
        match event:
            case CallFinished():
                self._steps = max(self._steps, event.step)
            case Resumed():
                self._resumed = True
            case Snapshot():
                yield from self._take(event)
            case WorkspaceExported():
                self._exported[event.path] = event
                self._hashes.add(event.sha256)
            case EvaluationStarted(submission=submission):
                if self._hashes and submission.sha256 is not None and submission.sha256 not in self._hashes:
                    yield f"an evaluation is of the workspace {submission.sha256[:16]!r}..., which was never exported"

    def end(self) -> Iterator[str]:
        for path, event in self._exported.items():
            if Path(path).name != path or path in (".", "..", ""):
                yield f"the exported workspace {path[:80]!r} is not in the trial's directory"
                continue
            try:
                digest, size = file_sha256(self._directory / path)
            except (OSError, ValueError) as error:
                yield f"{path}: the exported workspace cannot be read ({getattr(error, 'strerror', None) or error})"
                continue
            if (digest, size) != (event.sha256, event.bytes):
                yield f"{path}: {size} bytes with the sha256 {digest[:16]}..., but {event.bytes} bytes were exported"

    def _take(self, snapshot: Snapshot) -> Iterator[str]:
        if self._snapshot < 0 and snapshot.step != 0:
            yield f"the first snapshot is of step {snapshot.step} instead of step 0"
        elif snapshot.step < self._snapshot or (snapshot.step == self._snapshot and not self._resumed):
            yield f"a snapshot of step {snapshot.step} comes after that of step {self._snapshot}"
        if snapshot.step > self._steps:
            yield f"a snapshot of step {snapshot.step} comes when {self._steps} steps are finished"
        self._snapshot, self._resumed = max(self._snapshot, snapshot.step), False
        for path, problem in contradictions(self._manifest, snapshot.changes):
            yield f"snapshot of step {snapshot.step}: {path[:200]!r}: {problem}"
        for change in snapshot.changes:
            if change.change != "deleted" and change.type == "file" and change.kept and change.sha256 is not None:
                problem = self._contents.problem(change.sha256, change.size)
                if problem:
                    yield f"snapshot of step {snapshot.step}: {change.path[:200]!r}: {problem}"
