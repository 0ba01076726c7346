"""The events of a batch: every line that `batch.jsonl` can hold.

The coordinator alone writes them, with the discipline of a trial's events: appended, and synced before the work that a
line announces begins. They say what was planned and handed out. What a trial did and cost is in its own record, which
always wins. A field or a type of event may be added at any time.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter

from trajectories.record.base import BaseEvent, Json, Words, is_none

BATCH_SCHEMA_VERSION = "1.0"
"""Version of the format of a batch's files."""

How = Literal["fresh", "resume", "rerun", "evaluate"]
"""Ways in which a worker works on a unit: a new trial, the continuation of its record, a new trial in place of one
that infrastructure ended, or only the evaluation."""

Status = Literal["finished", "failed", "interrupted", "waiting"]
"""Ends of work on a unit: finished as planned, failed for good, interrupted by the user or the loss of its worker, or
waiting for a budget or a model."""


class Holder(BaseModel):
    """Process that owns a batch."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    host: str
    """Name of the machine."""
    pid: int
    """Process id on that machine."""


class BatchOpened(BaseEvent):
    """A coordinator takes over the batch."""

    type: Literal["batch_opened"] = "batch_opened"
    schema_version: str = BATCH_SCHEMA_VERSION
    """Version of the format in which the files of the batch are written."""
    coordinator: Holder
    """Process that takes over."""
    spec: Json
    """The spec as it was parsed, without what may change: tasks, models, arms, limits, env, attempts, exclude, from."""
    engine: str
    """Engine that runs the workers: local or ray."""
    workers: int
    """Largest number of trials at once."""
    evaluations: int
    """Largest number of evaluations at once on one machine."""
    reruns: int
    """Largest number of resumes and reruns of a unit after infrastructure failures."""
    budget_usd: float | None = None
    """Bound on the costs of all calls. null without one."""
    budget_tokens: int | None = None
    """Bound on the tokens of all calls. null without one."""
    versions: dict[str, str] = Field(default_factory=dict)
    """Versions of the programs that take part."""


class Planned(BaseEvent):
    """A unit of work exists."""

    type: Literal["planned"] = "planned"
    unit: str
    """Identity of the unit."""
    configuration: str
    """Id of the configuration, a line of `grid.jsonl`."""
    arm: str
    """Name of the arm."""
    attempt: int
    """Number of the attempt, from 1."""
    trial: str
    """Name of the folder of the unit's first trial."""


class Started(BaseEvent):
    """A worker is about to work on a unit."""

    type: Literal["started"] = "started"
    unit: str
    """Identity of the unit."""
    trial: str
    """Name of the folder of the trial; for a chain, that of its first turn."""
    how: How
    """Way in which the worker will work on it."""
    worker: str
    """Name of the worker, unique in the batch."""
    node: str | None = None
    """Host of the worker, if it is another one than the coordinator's."""
    counted: bool = False
    """True if this start follows an infrastructure failure, and counts as one of the reruns."""


class Ended(BaseEvent):
    """Work on a unit has ended."""

    type: Literal["ended"] = "ended"
    unit: str
    """Identity of the unit."""
    trial: str
    """Name of the folder of the trial; for a chain, that of its first turn."""
    status: Status
    """End of the work."""
    cause: str
    """Cause of the trial's exit, or `worker_lost`."""
    detail: Words = ""
    """Detail for people, in one line."""
    cost_usd: float | None = None
    """Known cost of all trials of the unit so far, superseded ones and role calls included. None if some is unknown."""
    needs_usd: float | None = Field(default=None, exclude_if=is_none)
    """Largest cost of the call that did not fit into the budget, if the unit waits for that."""
    needs_tokens: int | None = Field(default=None, exclude_if=is_none)
    """Largest number of tokens of that call."""


class Superseded(BaseEvent):
    """Another trial replaces this one; the last one counts, and the costs of all."""

    type: Literal["superseded"] = "superseded"
    unit: str
    """Identity of the unit."""
    trial: str
    """Name of the folder of the trial that is replaced."""
    by: str
    """Name of the folder of the trial that replaces it."""
    cause: str
    """Cause of the end of the replaced trial."""


class BatchClosed(BaseEvent):
    """The coordinator ends, with nothing left running."""

    type: Literal["batch_closed"] = "batch_closed"
    why: Literal["finished", "interrupted", "waiting"]
    """Reason for the end. `waiting`: every unit that is left waits for a budget or a model."""
    detail: Words = ""
    """Detail for people, in one line."""


class UnknownBatchEvent(BaseEvent):
    """An event of a type that a newer version added. Its content is not read."""

    type: str


BatchEvent = BatchOpened | Planned | Started | Ended | Superseded | BatchClosed | UnknownBatchEvent

BATCH_EVENT: TypeAdapter[BatchEvent] = TypeAdapter(
    Annotated[
        BatchOpened | Planned | Started | Ended | Superseded | BatchClosed,
        Field(discriminator="type"),
    ]
)
"""Parser of one event whose type this version knows."""
