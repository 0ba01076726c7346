"""Names of the files in a trial's folder and in a batch's, each spelled once.

`events.jsonl` is the record; packed, it is `events.jsonl.zst`. If both exist, `events.jsonl` is the record, because
only that one grows. It refers to `blobs`, the workspace and the evaluation. The three JSON files are derived from it
and can be deleted. A batch keeps the contents that its trials share in `.pool`.

The record of a plan has a folder below `plans`, with the text of the plan beside it.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

EVENTS = "events.jsonl"
PACKED = f"{EVENTS}.zst"
BLOBS = "blobs"
WORKSPACE = "workspace.tar.zst"
EVALUATION = "evaluation"
LOCK = "lock"
RESERVE = ".reserve"
POOL = ".pool"
SUMMARY = "trial.json"
VERDICT = "verdict.json"
SCORE = "score.json"
STEPS = "steps.jsonl"
REPLAYS = "replays"
PLANS = "plans"
"""Folder of a runs directory that holds the records of plans, beside the batches."""
PLAN = "plan.md"
BATCH_EVENTS = "batch.jsonl"
GRID = "grid.jsonl"
BATCH_LOCK = "batch.lock"
INPUTS = ".inputs"
WORKERS = ".workers"
_HEAD_BYTES = 300


def name_of_turn(first: str, turn: int) -> str:
    """Return the name of a turn's folder beside that of turn 1, whose name is `first`."""
    return first if turn == 1 else f"{first}.t{turn}"


def name_of_rerun(first: str, rerun: int) -> str:
    """Return the name of the folder of a unit's rerun, beside that of its first trial; rerun 0 is the first itself."""
    return first if rerun == 0 else f"{first}.r{rerun}"


def is_trial_or_rerun(name: str, first: str) -> bool:
    """Return True if a folder's name is `first`, or that of a rerun of it."""
    return name == first or (name.startswith(f"{first}.r") and rerun_in(name) is not None)


def rerun_in(name: str) -> tuple[str, int] | None:
    """Return what a rerun's name consists of: the name of the first trial and the number; None for another name."""
    first, point, digits = name.rpartition(".r")
    is_number = digits.isascii() and digits.isdecimal() and not digits.startswith("0") and len(digits) < 10
    return (first, int(digits)) if point and first and is_number else None


@dataclass(frozen=True)
class BatchFolder:
    """The paths of one batch, whose trials are folders beside these files. This class makes nothing."""

    path: Path

    @property
    def events(self) -> Path:
        """Journal of the coordinator: one line of JSON for each event."""
        return self.path / BATCH_EVENTS

    @property
    def grid(self) -> Path:
        """The resolved grid: one line of JSON for each configuration."""
        return self.path / GRID

    @property
    def inputs(self) -> Path:
        """Contents that the grid refers to by sha256: prompts, plans, answers, price tables."""
        return self.path / INPUTS

    @property
    def lock(self) -> Path:
        """Lock file of the coordinator that owns the batch."""
        return self.path / BATCH_LOCK

    def worker_log(self, worker: str) -> Path:
        """Output of a worker: nothing, unless something went wrong."""
        return self.path / WORKERS / f"{worker}.log"

    def trial(self, name: str) -> TrialFolder:
        """Return the folder of a trial of this batch."""
        return TrialFolder(self.path / name)

    def is_batch(self) -> bool:
        """Return True if a coordinator has begun this batch; a folder that only holds trials is not one."""
        return self.events.is_file()


@dataclass(frozen=True)
class TrialFolder:
    """The paths of one trial. This class makes nothing; only `record` and what begins with `is_` look at the disk."""

    path: Path

    @property
    def events(self) -> Path:
        """The record: one line of JSON for each event."""
        return self.path / EVENTS

    @property
    def packed(self) -> Path:
        """The record of a finished trial, packed. It counts only where `events` does not exist."""
        return self.path / PACKED

    @property
    def record(self) -> Path:
        """The file that holds the record now: `events`, or `packed` if only that exists."""
        return next((path for path in self.records if path.exists()), self.events)

    @property
    def records(self) -> tuple[Path, ...]:
        """The files that may hold the record, in the order in which to look. The first that exists holds it.

        While another process packs or unpacks the record, one look at each may miss both, so one comes twice.
        """
        return (self.events, self.packed, self.events)

    @property
    def blobs(self) -> Path:
        """Contents that events refer to by sha256."""
        return self.path / BLOBS

    @property
    def pool(self) -> Path:
        """Contents that the trials of the batch share."""
        return self.path.parent / POOL

    @property
    def workspace(self) -> Path:
        """The exported workspace."""
        return self.path / WORKSPACE

    @property
    def evaluation(self) -> Path:
        """Files that the evaluator left behind: logs and raw results."""
        return self.path / EVALUATION

    @property
    def evaluation_before(self) -> Path:
        """The files of the verdict that holds, while another evaluation runs."""
        return self.path / f".{EVALUATION}-before"

    @property
    def lock(self) -> Path:
        """Lock file of the process that writes the record."""
        return self.path / LOCK

    @property
    def reserve(self) -> Path:
        """Space that is kept free for the last events of a trial whose disk is full."""
        return self.path / RESERVE

    @property
    def summary(self) -> Path:
        """The derived summary."""
        return self.path / SUMMARY

    @property
    def verdict(self) -> Path:
        """The derived verdict with its cases."""
        return self.path / VERDICT

    @property
    def score(self) -> Path:
        """The derived quality and cost."""
        return self.path / SCORE

    @property
    def steps(self) -> Path:
        """The derived index of steps."""
        return self.path / STEPS

    @property
    def replays(self) -> Path:
        """Reports of replays."""
        return self.path / REPLAYS

    @property
    def plan(self) -> Path:
        """The text of a plan, beside the record of its calls."""
        return self.path / PLAN

    def is_trial(self) -> bool:
        """Return True if the folder holds the record of a trial."""
        return any(path.is_file() for path in self.records) and not self.is_role_record()

    def is_role_record(self) -> bool:
        """Return True if the folder holds a record without a trial: calls of a role, for example of a planner.

        In the folder of plans, an empty record counts as one: its process died before the first event. A folder with
        the summary of a trial holds none, and its record is not opened: a list of 10,000 trials looks at each.
        """
        try:
            if self.summary.exists() or not self.events.is_file():
                return False
            with self.events.open("rb") as file:
                head = file.read(_HEAD_BYTES)
        except OSError:
            return False
        return b'"type":"role_record_started"' in head or (not head and self.path.parent.name == PLANS)
