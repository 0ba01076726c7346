"""Messages between a coordinator and its workers: one JSON line each, over a pipe or through an actor.

A worker is told only what it has to do next. Everything that matters later is in the records, never only in a message.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter

from trajectories.batches.configuration import Configuration
from trajectories.batches.events import How


class _Message(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore")


class Work(_Message):
    """To a worker: work on a unit."""

    type: Literal["work"] = "work"
    unit: str
    configuration: Configuration
    attempt: int
    trial: str
    """Name of the folder of the unit's first trial, or of its rerun."""
    rerun: int = 0
    """Number of the rerun; 0 for the first trial."""
    replaces: str | None = None
    how: How
    evaluate: bool = True


class Admitted(_Message):
    """To a worker: this call may leave."""

    type: Literal["admitted"] = "admitted"
    call: int


class MayLeave(_Message):
    """To a worker on another machine: the record of this call is in the batch folder, and its request may leave."""

    type: Literal["may_leave"] = "may_leave"
    call: int


class NotAdmitted(_Message):
    """To a worker: this call will never leave; its trial stops."""

    type: Literal["not_admitted"] = "not_admitted"
    call: int
    cause: Literal["budget", "model_unavailable"]
    reason: str


class EvaluationGranted(_Message):
    """To a worker: this unit may be evaluated now."""

    type: Literal["evaluation_granted"] = "evaluation_granted"
    unit: str


class StopUnits(_Message):
    """To a worker: stop these units (None: all) and close their records."""

    type: Literal["stop_units"] = "stop_units"
    units: tuple[str, ...] | None = None


class Quit(_Message):
    """To a worker: end once nothing runs any more."""

    type: Literal["quit"] = "quit"


ToWorker = Work | Admitted | MayLeave | NotAdmitted | EvaluationGranted | StopUnits | Quit


class Hello(_Message):
    """From a worker, first: who it is."""

    type: Literal["hello"] = "hello"
    host: str
    pid: int
    version: str
    """Version of Retrace."""
    digest: str
    """Hash of the installed code, which must be that of the coordinator."""


class AskCall(_Message):
    """From a worker: may this call leave? `call` is a number of its own."""

    type: Literal["ask_call"] = "ask_call"
    call: int
    unit: str
    model: str
    usd: float | None
    """Largest cost of the call; None if nothing bounds it."""
    tokens: int | None
    wait: bool = True
    """False: answer `not_admitted` rather than let the call wait."""


class CallLeaves(_Message):
    """From a worker on another machine: an admitted call is in its record, and waits until the batch folder has it."""

    type: Literal["call_leaves"] = "call_leaves"
    call: int
    unit: str


class CallSettled(_Message):
    """From a worker: an admitted call has ended. None is unknown, and keeps the reservation."""

    type: Literal["call_settled"] = "call_settled"
    call: int
    unit: str
    outcome: Literal["finished", "failed"]
    usd: float | None = None
    tokens: int | None = None
    prompt_tokens: int | None = None
    cached_tokens: int | None = None
    status: int | None = None
    retry_after_s: float | None = None
    permanent: bool = False
    detail: str = ""


class AskEvaluation(_Message):
    """From a worker: may this unit be evaluated?"""

    type: Literal["ask_evaluation"] = "ask_evaluation"
    unit: str


class EvaluationOver(_Message):
    """From a worker: the evaluation of a unit has ended."""

    type: Literal["evaluation_over"] = "evaluation_over"
    unit: str


class Progress(_Message):
    """From a worker, about once a second while it changes: how far a unit is."""

    type: Literal["progress"] = "progress"
    unit: str
    trial: str
    steps: int
    phase: str = "working"
    """In a word: starting, working, waiting, evaluating."""


class UnitEnded(_Message):
    """From a worker: its work on a unit has ended, and the record is closed."""

    type: Literal["unit_ended"] = "unit_ended"
    unit: str
    trial: str
    problem: str = ""
    """Reason if the unit could not begin: a changed task, a missing key. Otherwise the record tells everything."""
    problem_kind: Literal["", "user", "machine", "busy", "stopped", "defect"] = ""
    """`busy`: another process is at work on the trial. `stopped`: the unit was stopped before it began."""
    evaluates: bool = True
    """False if the task has no evaluation."""


FromWorker = Hello | AskCall | CallLeaves | CallSettled | AskEvaluation | EvaluationOver | Progress | UnitEnded

TO_WORKER: TypeAdapter[ToWorker] = TypeAdapter(Annotated[ToWorker, Field(discriminator="type")])
FROM_WORKER: TypeAdapter[FromWorker] = TypeAdapter(Annotated[FromWorker, Field(discriminator="type")])
