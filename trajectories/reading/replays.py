"""The stored reports of a trial's replays: one file in `replays/` for each request, which holds its last replay.

They are derived files: not part of the record, its identity or its checks. Anybody who can write in the folder can
write them.
"""

from __future__ import annotations

import os
from collections import Counter
from itertools import islice
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from trajectories.errors import RecordError
from trajectories.plain_files import open_plain
from trajectories.reading.packed import record_state
from trajectories.record.base import Words
from trajectories.record.identity import sha256_of
from trajectories.record.layout import TrialFolder

_MOST_FILES = 100
_MOST_BYTES = 64 << 20


class ReplayRequest(BaseModel):
    """The request for a replay: where the commands run, and how far. None is as recorded, and the last step."""

    model_config = ConfigDict(frozen=True)

    environment: str
    """Kind of the environment."""
    to: int | None = None
    """Step after which the replay stops."""
    image: Words | None = None
    """Image in which the replay begins."""
    workspace: Words | None = None
    """Workspace with which the replay begins."""

    @property
    def key(self) -> str:
        """Name of the request's file, without its suffix."""
        return sha256_of(self.model_dump())[:12]


class Difference(BaseModel):
    """A command that did not come out as it was recorded."""

    model_config = ConfigDict(frozen=True)

    action: str
    """Address of the command."""
    name: str = Field(alias="class")
    """Class of the difference."""
    detail: Words
    """Description in one line."""


class ReplayResult(BaseModel):
    """The result of a replay, as `agent replay --json` prints it."""

    model_config = ConfigDict(frozen=True)

    actions: int
    returncodes_equal: int
    outputs_identical: int
    outputs_equal_normalized: int
    divergences: tuple[Difference, ...]
    first_causal: Difference | None
    workspace_equal: bool | None
    workspace_differences: tuple[Words, ...]
    not_replayed: tuple[str, ...]
    not_restored: tuple[Words, ...]
    not_compared: tuple[Words, ...]
    notes: tuple[Words, ...]
    not_recorded: tuple[str, ...]
    snapshots: bool
    submission_equal: bool | None


class StoredReplay(BaseModel):
    """A replay that ran to its end."""

    model_config = ConfigDict(frozen=True)

    version: Literal[1] = 1
    """Version of this file."""
    replayed: str
    """Time at which the replay ended, in UTC and ISO 8601."""
    request: ReplayRequest
    """The request that was replayed."""
    events_bytes: int
    """Size of the record that was replayed. A record of another size has changed since."""
    report: ReplayResult
    """The result."""


class ReplaySummary(ReplayRequest):
    """A stored replay in a few figures, as `agent show --json` prints it."""

    replayed: str
    """Time at which the replay ended."""
    actions: int
    """Number of commands that were compared."""
    returncodes_equal: int
    outputs_identical: int
    outputs_equal_normalized: int
    workspace_equal: bool | None
    """None if the record does not hold the workspace."""
    submission_equal: bool | None
    """None if the record does not hold a submission."""
    classes: dict[str, int]
    """Number of commands by class of their difference."""
    first_causal: str | None
    """Address of the first command after which the workspace differs."""
    record_changed: bool
    """True if the record has another size than when it was replayed."""
    file: str
    """The file with the whole report."""


def read_replays(trial: Path) -> list[ReplaySummary]:
    """Return the stored replays of a trial, oldest first. Files that are not reports of this version are left out.

    Raises: RecordError if the trial's record cannot be read.
    """
    folder = TrialFolder(trial)
    try:
        names = sorted(entry.name for entry in islice(os.scandir(folder.replays), _MOST_FILES))
    except OSError:
        return []
    size = record_state(folder.record).size
    paths = (folder.replays / name for name in names if name.endswith(".json"))
    replays = ((path, replay) for path in paths if (replay := _read(path)) is not None)
    return sorted((_summary(path, replay, size) for path, replay in replays), key=lambda summary: summary.replayed)


def _read(path: Path) -> StoredReplay | None:
    try:
        with open_plain(path) as file:
            if os.fstat(file.fileno()).st_size > _MOST_BYTES:
                return None
            return StoredReplay.model_validate_json(file.read())
    except (OSError, ValidationError, RecordError):
        return None


def _summary(path: Path, replay: StoredReplay, size: int) -> ReplaySummary:
    report = replay.report
    return ReplaySummary(
        **dict(replay.request),
        replayed=replay.replayed,
        actions=report.actions,
        returncodes_equal=report.returncodes_equal,
        outputs_identical=report.outputs_identical,
        outputs_equal_normalized=report.outputs_equal_normalized,
        workspace_equal=report.workspace_equal,
        submission_equal=report.submission_equal,
        classes=dict(Counter(difference.name for difference in report.divergences)),
        first_causal=None if report.first_causal is None else report.first_causal.action,
        record_changed=replay.events_bytes != size,
        file=str(path),
    )
