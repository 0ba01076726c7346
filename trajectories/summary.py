"""A trial in one object: what `--json` prints and `trial.json` holds.

Derived from the events alone, so that it can be rebuilt at any time.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Literal

from pydantic import BaseModel

from trajectories.errors import RecordError
from trajectories.events import Evaluated, Event, Exited, Parent, TrialStarted
from trajectories.exits import Exit
from trajectories.tally import Tally
from trajectories.usage import Costs, Usage
from trajectories.verdict import GroupScore, Verdict


class ExitSummary(BaseModel):
    """`reason` and `cause` of the exit."""

    reason: str
    cause: str
    detail: str = ""

    @classmethod
    def of(cls, exit: Exit) -> ExitSummary:
        """The exit as it is printed."""
        return cls(reason=exit.reason, cause=exit.cause, detail=exit.detail)


class VerdictSummary(BaseModel):
    """A verdict without its cases."""

    status: Literal["scored", "error"]
    passed: bool | None
    quality: float | None
    groups: dict[str, GroupScore]
    error: str = ""

    @classmethod
    def of(cls, verdict: Verdict) -> VerdictSummary:
        """The verdict as it is printed."""
        return cls(
            status=verdict.status,
            passed=verdict.passed,
            quality=verdict.quality,
            groups=verdict.groups,
            error=verdict.error,
        )


class Summary(BaseModel):
    """Times in seconds, money in US dollars, None unknown; `exit` None while it runs or after a crash."""

    trial: str
    """Its directory."""
    task: str
    model: str
    attempt: int
    environment: str
    started: str
    exit: ExitSummary | None = None
    steps: int
    commands: int
    """Started; one that was interrupted counts."""
    failed_calls: int
    unmetered_calls: int
    usage: Usage
    cost_usd: Costs
    wall_s: float
    working_s: float
    verdict: VerdictSummary | None = None
    parent: Parent | None = None
    """Where it was forked from."""


def summarize(directory: Path, events: Iterable[Event]) -> Summary:
    """The summary of a trial's events.

    Raises: RecordError if there are none, or the first is no `trial_started`.
    """
    stream = iter(events)
    start = next(stream, None)
    if not isinstance(start, TrialStarted):
        raise RecordError(f"{directory}: the record does not begin with trial_started")
    tally = Tally()
    exit: Exit | None = None
    verdict: Verdict | None = None
    last_s = 0.0
    for event in stream:
        tally.feed(event)
        last_s = event.mono_s
        match event:
            case Exited():
                exit = event.exit
            case Evaluated():
                verdict = event.verdict
    return Summary(
        trial=str(directory),
        task=start.task.id,
        model=start.model.asked,
        attempt=start.attempt,
        environment=start.environment,
        started=start.t,
        exit=ExitSummary.of(exit) if exit else None,
        steps=tally.steps,
        commands=tally.commands,
        failed_calls=tally.failed_calls,
        unmetered_calls=tally.unmetered_calls,
        usage=tally.usage,
        cost_usd=tally.costs,
        wall_s=round(tally.wall_s(last_s), 3),
        working_s=round(tally.working_s(last_s), 3),
        verdict=VerdictSummary.of(verdict) if verdict else None,
        parent=start.parent,
    )
