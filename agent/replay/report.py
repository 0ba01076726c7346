"""The report of a replay, as `agent replay --json` prints it."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from trajectories.reading.replays import ReplayRequest, ReplayResult, StoredReplay
from trajectories.record.events import Json


@dataclass(frozen=True)
class Divergence:
    """An action that did not come out as it was recorded."""

    action: str
    name: str
    """Class of the difference, such as `exit code` or `workspace`."""
    detail: str

    def json(self) -> Json:
        """Return the divergence as JSON."""
        return {"action": self.action, "class": self.name, "detail": self.detail}


@dataclass
class ReplayReport:
    """The result of a replay. Counts are out of `actions`; an output that is identical is also equal normalized."""

    trial: Path
    environment: str
    actions: int = 0
    returncodes_equal: int = 0
    outputs_identical: int = 0
    outputs_equal_normalized: int = 0
    divergences: list[Divergence] = field(default_factory=list)
    first_causal: Divergence | None = None
    """The first action after which the workspace differs."""
    snapshots: bool = True
    """False if the record has no snapshots, so that the first causal action is unknown."""
    submission_equal: bool | None = None
    """True if the submitting command handed in the same, or the same without noise. None if none is recorded."""
    workspace_equal: bool | None = None
    """None if the record does not hold the workspace."""
    workspace_differences: list[str] = field(default_factory=list)
    not_replayed: list[str] = field(default_factory=list)
    """Actions without an end of their own in the record (interrupted, lost): there is nothing to compare with."""
    not_recorded: list[str] = field(default_factory=list)
    """Actions that ran again, and whose end or output the record does not hold whole."""
    not_restored: list[str] = field(default_factory=list)
    """Paths of the initial workspace that are lost, with reasons."""
    not_compared: list[str] = field(default_factory=list)
    """Paths that differ, but hold only times and file numbers."""
    notes: list[str] = field(default_factory=list)

    @property
    def all_equal(self) -> bool:
        """Report if everything was replayed, and is equal to the byte.

        A replay that compared nothing is not equal.
        """
        compared = self.actions > 0 or self.workspace_equal is not None or self.submission_equal is not None
        whole = not self.divergences and not self.not_replayed
        return compared and whole and self.workspace_equal is not False and self.submission_equal is not False

    def stored(self, request: ReplayRequest, events_bytes: int) -> StoredReplay:
        """Return the report as it is stored beside the record, which had this size."""
        now = datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
        result = ReplayResult.model_validate(self.json())
        return StoredReplay(replayed=now, request=request, events_bytes=events_bytes, report=result)

    def json(self) -> Json:
        """Return the report as JSON."""
        return {
            "trial": str(self.trial),
            "environment": self.environment,
            "actions": self.actions,
            "returncodes_equal": self.returncodes_equal,
            "outputs_identical": self.outputs_identical,
            "outputs_equal_normalized": self.outputs_equal_normalized,
            "divergences": [divergence.json() for divergence in self.divergences],
            "first_causal": None if self.first_causal is None else self.first_causal.json(),
            "workspace_equal": self.workspace_equal,
            "workspace_differences": self.workspace_differences,
            "not_replayed": self.not_replayed,
            "not_restored": self.not_restored,
            "not_compared": self.not_compared,
            "notes": self.notes,
            "not_recorded": self.not_recorded,
            "snapshots": self.snapshots,
            "submission_equal": self.submission_equal,
        }
