"""Records of plans, and what a trial states about the plan that it was given."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from trajectories.checks.usage_sums import does_not_add_up
from trajectories.errors import RecordError
from trajectories.plain_files import read_plain
from trajectories.reading.plans.record import plan_of, read_plan
from trajectories.record.events import (
    Event,
    Plan,
    RoleCallFinished,
    RoleCallStarted,
    RoleRecordStarted,
    TrialStarted,
    Unknown,
)
from trajectories.record.layout import PLANS, TrialFolder

_MOST_BYTES = 64 << 20


class RoleRecord:
    """Rule `role_record`: all calls are of the record's role and model, and the text beside it is the plan."""

    name = "role_record"

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._start: RoleRecordStarted | None = None
        self._events: list[Event] = []

    def feed(self, event: Event) -> Iterator[str]:
        self._events.append(event)
        match event:
            case RoleRecordStarted():
                if self._start is not None:
                    yield "a second role_record_started"
                self._start = self._start or event
            case RoleCallStarted() if self._start is not None:
                for name, stated, expected in (
                    ("role", event.role, self._start.role),
                    ("model", event.model.name, self._start.model.name),
                    ("prompt", event.prompt.sha256, self._start.prompt.sha256),
                ):
                    if stated != expected:
                        yield f"role call {event.call} has the {name} {stated[:40]!r}, but the record {expected[:40]!r}"
            case RoleCallFinished():
                yield from does_not_add_up(event.usage, event.usage_raw)
                yield from self._costs(event)
            case Unknown():
                pass
            case _:
                yield f"{event.type} in the record of a role"

    def end(self) -> Iterator[str]:
        path = TrialFolder(self._directory).plan
        try:
            text = plan_of(self._directory, self._events).text
            if path.stat().st_size > _MOST_BYTES:
                raise ValueError
            beside = read_plain(path).decode()
        except (RecordError, FileNotFoundError):
            return
        except (OSError, ValueError):
            yield f"{path.name} cannot be read"
            return
        if text is None or beside.strip() != text.strip():
            yield f"{path.name} differs from the plan in the record"

    def _costs(self, event: RoleCallFinished) -> Iterator[str]:
        """Yield a cost of nothing for tokens that have a price."""
        costs, usage = event.costs, event.usage
        if self._start is None or self._start.prices is None or costs is None or usage is None:
            return
        if costs.best == 0 and costs.list and usage.total:
            yield f"role call {event.call} costs nothing, but {costs.list:g} USD by the list"


class GivenPlan:
    """Rule `plan`: what the trial states about its plan agrees with the record of the plan, if that is at hand."""

    name = "plan"

    def __init__(self, directory: Path) -> None:
        self._plans = directory.absolute().parent.parent / PLANS

    def feed(self, event: Event) -> Iterator[str]:
        if isinstance(event, TrialStarted) and event.plan is not None and event.plan.record is not None:
            yield from self._differences(event.plan, event.plan.record)

    def end(self) -> Iterator[str]:
        return iter(())

    def _differences(self, plan: Plan, name: str) -> Iterator[str]:
        if Path(name).name != name:
            yield f"the plan's record {name[:80]!r} is not the name of a folder"
            return
        directory = self._plans / name
        if not TrialFolder(directory).is_role_record():
            return
        try:
            record = read_plan(directory)
        except RecordError as error:
            yield f"the record of its plan cannot be read: {error}"
            return
        stated = {"author": plan.author, "costs": plan.costs, "model": plan.model and plan.model.name}
        model = record.model.name if record.author == "model" else None
        actual = {"author": record.author, "costs": record.costs, "model": model}
        for key, value in stated.items():
            if value != actual[key]:
                verb = "are not those" if key == "costs" else "is not that"
                yield f"the {key} of its plan {verb} in {PLANS}/{name}"
