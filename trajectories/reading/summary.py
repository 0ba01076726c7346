"""A trial in one object: what `--json` prints and `trial.json` holds.

Derived from the events alone, so that it can be rebuilt at any time.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Literal

from pydantic import BaseModel

from trajectories.reading.entry import TrialEntry
from trajectories.reading.reader import after_first
from trajectories.reading.tally import Tally
from trajectories.record.events import Evaluated, Event, Exited, Message, Parent, TrialStarted
from trajectories.record.exits import Exit
from trajectories.record.usage import Costs, Usage
from trajectories.record.verdict import GroupScore, Verdict, standing_verdict


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
    metrics: dict[str, float] = {}
    error: str = ""
    notes: tuple[str, ...] = ()
    """What has to be known with it: why it does not build, whether it is official."""

    @classmethod
    def of(cls, verdict: Verdict) -> VerdictSummary:
        """The verdict as it is printed."""
        return cls(
            status=verdict.status,
            passed=verdict.passed,
            quality=verdict.quality,
            groups=verdict.groups,
            metrics=verdict.metrics,
            error=verdict.error,
            notes=verdict.notes,
        )


class Summary(BaseModel):
    """Times in seconds, money in US dollars, None unknown; `exit` None while it runs or after a crash."""

    trial: str
    """Its directory."""
    task: str
    variant: str | None = None
    """Which ablation of the task, joined with `+`; None is the task as its benchmark has it."""
    model: str
    attempt: int
    environment: str
    started: str
    """The first time that the record says."""
    finished: str = ""
    """When it exited, the last time if it was resumed (of an import whose exit has no time, the last that its file
    says); empty while it runs or where the record has no times."""
    entry: TrialEntry
    """What it is compared as."""
    exit: ExitSummary | None = None
    steps: int
    commands: int
    """Started; one that was interrupted counts."""
    failed_calls: int
    unmetered_calls: int
    hints: int = 0
    """Messages in which somebody told the model what to do (an intervention, a fork's text)."""
    usage: Usage
    cost_usd: Costs
    wall_s: float | None
    """None where the record has no times (an import of a file without any)."""
    working_s: float | None
    verdict: VerdictSummary | None = None
    parent: Parent | None = None
    """Where it was forked from."""


class StoredSummary(Summary):
    """What `trial.json` holds: the summary, and of how much of the record it is."""

    events_bytes: int
    """Size of `events.jsonl` before it was read: a copy's times say nothing, and a record may have grown since."""


def summarize(directory: Path, events: Iterable[Event]) -> Summary:
    """The summary of a trial's events.

    Raises: RecordError if there are none, or the first is no `trial_started`.
    """
    start, stream = after_first(directory, events)
    tally = Tally()
    exit: Exit | None = None
    verdict: Verdict | None = None
    last_s, first_t, last_t, exit_t = 0.0, start.t, start.t, ""
    hints = 0
    for event in stream:
        tally.feed(event)
        first_t, last_t = first_t or event.t, event.t or last_t
        last_s = event.mono_s
        match event:
            case Exited():
                exit, exit_t = event.exit, last_t
            case Message(why="hint", inherited=False):
                hints += 1
            case Evaluated():
                verdict = standing_verdict((verdict, event.verdict))
    return Summary(
        trial=str(directory),
        task=start.task.id,
        model=start.model.asked,
        variant=start.variant,
        attempt=start.attempt,
        environment=start.environment,
        started=first_t,
        finished=exit_t,
        entry=TrialEntry.of(start),
        exit=ExitSummary.of(exit) if exit else None,
        steps=tally.steps,
        commands=tally.commands,
        failed_calls=tally.failed_calls,
        unmetered_calls=tally.unmetered_calls,
        hints=hints,
        usage=tally.usage,
        cost_usd=_costs(start, tally),
        wall_s=round(tally.wall_s(last_s), 3) if first_t else None,
        working_s=round(tally.working_s(last_s), 3) if first_t else None,
        verdict=VerdictSummary.of(verdict) if verdict else None,
        parent=start.parent,
    )


def _costs(start: TrialStarted, tally: Tally) -> Costs:
    """Of an imported trial whose calls do not all have a figure of their own, the file's total is what was billed."""
    costs = tally.costs
    if costs.billed is None and start.imported is not None:
        return costs.model_copy(update={"billed": start.imported.billed_usd})
    return costs
