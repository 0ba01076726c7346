"""The workspace of a trial after any step, from the snapshots in its record.

Only lines of snapshots are parsed. Of all others only the type is read, so that any step of a long record is quick.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from trajectories.blobs.store import BlobStore
from trajectories.errors import RecordError
from trajectories.reading.lines import complete_lines, kind_of
from trajectories.reading.reader import EventParser, events_file
from trajectories.record.events import ActionStarted, CallFinished, Event, InheritedReply, Snapshot
from trajectories.record.layout import WORKSPACE, TrialFolder
from trajectories.record.parts import Skipped
from trajectories.workspace.manifest import Manifest, apply

_STEP = re.compile(rb'"type":"(?:call_finished|action_started)",(?:"action":"[^"\\]*",)?"step":(\d+)')
_PARSED = frozenset({"trial_started", "snapshot", None})
_COUNTED = frozenset({"call_finished", "action_started"})


@dataclass
class WorkspaceState:
    """The workspace of a trial after a step."""

    trial: Path
    step: int
    manifest: Manifest
    blobs: BlobStore
    """Store of the contents."""
    unread: tuple[Skipped, ...] = ()
    """Paths whose state could not be read, and that no later step changed."""


class NoSnapshots(RecordError):
    """The record of a trial holds no snapshots."""


def state_at(trial: Path, step: int | None = None) -> WorkspaceState:
    """Return the workspace after this step, by default after the last one.

    Raises: NoSnapshots if the record has none. RecordError for a step that the trial does not have, for a step whose
    state was not recorded because of a crash, and for a record that cannot be read.
    """
    path = events_file(trial)
    folder = TrialFolder(path.parent)
    manifest: Manifest = {}
    unread: dict[str, Skipped] = {}
    recorded, at, last, last_action = -1, 0, 0, 0
    for event in _relevant(path):
        if isinstance(event, Snapshot):
            recorded = max(recorded, event.step)
            if step is None or event.step <= step:
                at = max(at, event.step)
                apply(manifest, event.changes)
                for change in event.changes:
                    unread.pop(change.path, None)
                unread.update((skipped.path, skipped) for skipped in event.unread)
        elif isinstance(event, _Step):
            last = max(last, event.number)
            if event.action and (step is None or event.number <= step):
                last_action = max(last_action, event.number)
    if recorded < 0:
        archive = f", only the final one in {WORKSPACE}" if folder.workspace.is_file() else ""
        raise NoSnapshots(f"{path.parent}: the record holds no snapshots of the workspace{archive}")
    last = max(last, recorded)
    if step is not None and not 0 <= step <= last:
        raise RecordError(f"{path.parent}: there is no step {step}; the last is {last}")
    if step is None:
        step = at if at < last_action else last
    elif at < last_action:
        raise RecordError(f"{path.parent}: the workspace after step {step} was not recorded; that after step {at} was")
    return WorkspaceState(path.parent, step, manifest, BlobStore(folder.blobs), tuple(unread.values()))


@dataclass(frozen=True)
class _Step:
    number: int
    action: bool


def _relevant(path: Path) -> Iterator[Event | _Step]:
    """Yield the snapshots and the numbers of the steps."""
    parser = EventParser()
    for number, line in complete_lines(path):
        kind = kind_of(line)
        number_in_line = _STEP.search(line[:600]) if kind in _COUNTED else None
        if number_in_line:
            yield _Step(int(number_in_line[1]), kind == "action_started")
        elif kind in _PARSED or kind in _COUNTED or number == 1:
            for event in parser.events(line, f"{path}:{number}"):
                if isinstance(event, CallFinished | ActionStarted):
                    yield _Step(event.step, isinstance(event, ActionStarted))
                elif not isinstance(event, InheritedReply):
                    yield event
