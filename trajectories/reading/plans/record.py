"""What the record of a plan holds: its text, who wrote it, and what its calls cost. Derived from the events alone."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from pydantic import BaseModel, Field

from trajectories.errors import RecordError
from trajectories.reading.reader import read_role_events
from trajectories.record.events import Event, ModelRef, RoleCallFinished, RoleCallStarted, RoleRecordStarted, TaskRef
from trajectories.record.identity import sha256_of
from trajectories.record.interventions import Author, CodeRule
from trajectories.record.parts import PriceRef, TextRef
from trajectories.record.roles import RoleCallStatus
from trajectories.record.usage import Costs, Usage

HUMAN = "human"
"""Name of the model that stands for a person."""
RULE = "plan_rule"
"""Key of the options that names the rule for the plan."""


class PlanCall(BaseModel):
    """One request for a plan."""

    call: int
    """Number of the role call."""
    try_: int = Field(serialization_alias="try")
    """Number of this request among those for the same messages."""
    status: RoleCallStatus | None
    """Result of the call. None if the record has none: its process died meanwhile, or is still at work."""
    detail: str
    """Description of a failure, or of what is wrong with the reply."""
    usage: Usage | None
    costs: Costs | None
    """Costs of the call. None if nothing shows that it was billed."""
    latency_s: float | None


class PlanRecord(BaseModel):
    """The record of one plan."""

    record: str
    """Name of the record."""
    path: Path
    """Folder of the record."""
    t: str
    """Time at which it was begun."""
    task: TaskRef
    model: ModelRef
    """Model that was asked; `human` stands for a person."""
    author: Author
    """`model` or `person`."""
    rule: CodeRule
    """Rule that the plan was checked by."""
    prompt: TextRef
    prices: PriceRef | None
    text: str | None
    """The plan. None if no reply could be used."""
    calls: tuple[PlanCall, ...]
    usage: Usage
    """Usage of all calls, as far as it is known."""
    costs: Costs
    """Costs of all calls. A kind is None if it is unknown for any call."""

    @property
    def without_result(self) -> tuple[int, ...]:
        """Numbers of the calls without a result. Their costs are unknown."""
        return tuple(call.call for call in self.calls if call.status is None)

    @property
    def sha256(self) -> str | None:
        """Hash of the text."""
        return None if self.text is None else sha256_of(self.text)


def read_plan(directory: Path) -> PlanRecord:
    """Return what the record of a plan holds.

    Raises: RecordError if it is not one, or cannot be read.
    """
    return plan_of(directory, read_role_events(directory))


def plan_of(directory: Path, events: Iterable[Event]) -> PlanRecord:
    """Return what the events of a record hold.

    Raises: RecordError if they are not those of a plan.
    """
    stream = iter(events)
    start = next(stream, None)
    if start is None:
        raise RecordError(f"{directory}: the record is empty")
    if not isinstance(start, RoleRecordStarted) or start.role != "planner":
        raise RecordError(f"{directory}: not the record of a plan")
    started: dict[int, RoleCallStarted] = {}
    finished: dict[int, RoleCallFinished] = {}
    for event in stream:
        if isinstance(event, RoleCallStarted):
            started[event.call] = event
        elif isinstance(event, RoleCallFinished):
            finished[event.call] = event
    results = list(finished.values())
    answers = [result.text for result in results if result.status == "answered"]
    unknown = [Costs() for call in started if call not in finished]
    return PlanRecord(
        record=start.record,
        path=directory,
        t=start.t,
        task=start.task,
        model=start.model,
        author="person" if start.model.name == HUMAN else "model",
        rule="no-code" if start.options.get(RULE) == "no-code" else "none",
        prompt=start.prompt,
        prices=start.prices,
        text=answers[-1] if answers else None,
        calls=tuple(_call(call, finished.get(call.call)) for call in started.values()),
        usage=Usage.sum(result.usage for result in results if result.usage is not None),
        costs=Costs.sum([*unknown, *(result.costs for result in results if result.costs is not None)]),
    )


def _call(started: RoleCallStarted, result: RoleCallFinished | None) -> PlanCall:
    return PlanCall(
        call=started.call,
        try_=started.try_,
        status=None if result is None else result.status,
        detail="" if result is None else result.detail,
        usage=None if result is None else result.usage,
        costs=None if result is None else result.costs,
        latency_s=None if result is None else result.latency_s,
    )
