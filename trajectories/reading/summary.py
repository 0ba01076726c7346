"""The summary of a trial: the object that `--json` prints and `trial.json` holds.

It is derived from the events alone, so that it can be rebuilt at any time.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, SerializerFunctionWrapHandler, model_serializer

from trajectories.reading.entry import TrialEntry
from trajectories.reading.interventions.expert_tally import ExpertTally, Interventions
from trajectories.reading.panel_votes import PanelTally, PanelVotes
from trajectories.reading.reader import after_first
from trajectories.reading.totals.spending import Spending, SpendingTally
from trajectories.reading.totals.tally import Tally
from trajectories.record.events import Evaluated, Event, Exited, Message, Parent, TrialStarted
from trajectories.record.exits import Exit
from trajectories.record.usage import Costs, Usage
from trajectories.record.verdict import GroupScore, SystemChange, Verdict, VerdictCause, standing_verdict
from trajectories.record.words import Result, SubmissionKind


class ExitSummary(BaseModel):
    """The exit of a trial."""

    reason: str
    cause: str
    detail: str = ""

    @classmethod
    def of(cls, exit: Exit) -> ExitSummary:
        """Return the summary of an exit."""
        return cls(reason=exit.reason, cause=exit.cause, detail=exit.detail)


_ADDED = ("cause", "changed", "tampered", "result", "submission", "processes_kept", "exposed", "comparable", "settings")
"""Fields that later versions of the schema added."""


class VerdictSummary(BaseModel):
    """A verdict without its cases."""

    status: Literal["scored", "error"]
    passed: bool | None
    quality: float | None
    groups: dict[str, GroupScore]
    metrics: dict[str, float] = {}
    error: str = ""
    notes: tuple[str, ...] = ()
    """Remarks, for example why the workspace does not build, or that the verdict is not official."""
    cause: VerdictCause | None = None
    """Cause that decided in place of the tests. None if the tests decided."""
    changed: tuple[SystemChange, ...] | None = None
    """Unexpected changes outside of the workspace that do not reach the tests. None if nobody looked."""
    tampered: tuple[SystemChange, ...] | None = None
    """Changes outside of the workspace that reach the tests. None if nobody looked."""
    result: Result | None = None
    """What was judged: the workspace, or the whole system. None before 2.2."""
    submission: SubmissionKind | None = None
    """Form of the submission. None before 2.2."""
    processes_kept: bool | None = None
    """True if what the agent left running ran during the tests."""
    exposed: tuple[str, ...] | None = None
    """What the submission could have tampered with; None if there is nothing."""
    comparable: bool | None = None
    """True if the score can be compared with published numbers. None if the benchmark has none."""
    settings: dict[str, str] | None = None
    """Settings that changed the task for its evaluation; None if there are none."""

    @classmethod
    def of(cls, verdict: Verdict) -> VerdictSummary:
        """Return the summary of a verdict."""
        return cls(
            status=verdict.status,
            passed=verdict.passed,
            quality=verdict.quality,
            groups=verdict.groups,
            metrics=verdict.metrics,
            error=verdict.error,
            notes=verdict.notes,
            cause=verdict.cause,
            changed=verdict.changed,
            tampered=verdict.tampered,
            result=verdict.result,
            submission=verdict.submission,
            processes_kept=verdict.processes_kept,
            exposed=verdict.exposed or None,
            settings=verdict.settings or None,
            comparable=verdict.comparable,
        )

    @model_serializer(mode="wrap")
    def _without_unknown(self, serialize: SerializerFunctionWrapHandler) -> dict[str, object]:
        """Leave out later fields that are None, so that exports of earlier records stay the same bytes."""
        fields: dict[str, object] = serialize(self)
        return {name: value for name, value in fields.items() if name not in _ADDED or value is not None}


class Summary(BaseModel):
    """A trial in numbers. Times are in seconds and costs in US dollars. None is unknown."""

    trial: str
    """Directory of the trial."""
    task: str
    """Id of the task."""
    label: str | None = None
    """Label that the user gave to the trial."""
    variant: str | None = None
    """Variants of the task, joined with `+`. None is the task as its benchmark defines it."""
    model: str
    """Model as the user named it."""
    attempt: int
    """Number of the attempt, from 1."""
    rerun: int | None = None
    """Number of this trial among those that replaced the first one. None for the first one itself."""
    replaces: str | None = None
    """Id of the trial that this one replaces in its batch."""
    environment: str
    """Kind of the environment."""
    started: str
    """First time in the record."""
    finished: str = ""
    """Time of the last exit. Empty while the trial runs, and if the record has no times.

    If the exit of an imported trial has no time, it is the last time in its file.
    """
    entry: TrialEntry
    """Names and hashes under which the trial is compared."""
    exit: ExitSummary | None = None
    """The exit. None while the trial runs, and after a crash."""
    steps: int
    """Number of steps."""
    commands: int
    """Number of commands that were started, interrupted ones included."""
    failed_calls: int
    """Number of tries that brought no reply."""
    unmetered_calls: int
    """Number of calls whose usage is unknown."""
    hints: int = 0
    """Number of messages that gave the model a hint, for example the text of a fork."""
    interventions: Interventions | None = None
    """Questions to the expert, and what became of them. None if the model had no expert."""
    usage: Usage
    """Tokens of all calls together."""
    cost_usd: Costs
    """Costs of all calls together."""
    spending: Spending = Spending()
    """Costs of the agent's calls and those of every role, and the calls whose cost is unknown."""
    wall_s: float | None
    """Time from the first call to the exit, without pauses. None if the record has no times."""
    working_s: float | None
    """The same time without failed tries and the waits after them."""
    verdict: VerdictSummary | None = None
    """The verdict that holds, without its cases."""
    parent: Parent | None = None
    """Trial and step that the trial was forked from."""
    panel: PanelVotes | None = None
    """Votes of the newest integrity panel, unless the trial continued after it."""


class StoredSummary(Summary):
    """The content of `trial.json`: the summary, and the size of the record that it was made of."""

    events_bytes: int
    """Size of `events.jsonl` before it was read. It shows if the record has grown since, which file times may not."""


def missing_fields(stored: Summary) -> tuple[frozenset[str], frozenset[str]]:
    """Return the fields that a stored summary and its entry lack, because an earlier version wrote it."""
    return (
        frozenset(Summary.model_fields.keys() - stored.model_fields_set),
        frozenset(TrialEntry.model_fields.keys() - stored.entry.model_fields_set),
    )


def names_a_hint_wrongly(stored: Summary) -> bool:
    """Return True for a stored summary of version 0.1.0 or before, in which every fork was labeled as hinted."""
    return stored.parent is not None and stored.hints == 0 and "+hint" in stored.entry.label.split()


def summarize(directory: Path, events: Iterable[Event]) -> Summary:
    """Return the summary of a trial's events.

    Raises: RecordError if there are none, or if the first is not a `trial_started`.
    """
    start, stream = after_first(directory, events)
    tally, spending = Tally(), SpendingTally()
    spending.feed(start)
    experts = ExpertTally() if start.guidance else None
    exit: Exit | None = None
    verdict: Verdict | None = None
    last_s, first_t, last_t, exit_t = 0.0, start.t, start.t, ""
    hints = 0
    panel = PanelTally()
    for event in stream:
        tally.feed(event)
        spending.feed(event)
        if experts is not None:
            experts.feed(event)
        panel.feed(event)
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
        label=start.label,
        variant=start.variant,
        attempt=start.attempt,
        rerun=start.rerun,
        replaces=start.replaces,
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
        interventions=experts.interventions if experts else None,
        usage=tally.usage,
        cost_usd=_costs(start, tally),
        spending=spending.spending,
        wall_s=round(tally.wall_s(last_s), 3) if first_t else None,
        working_s=round(tally.working_s(last_s), 3) if first_t else None,
        verdict=VerdictSummary.of(verdict) if verdict else None,
        parent=start.parent,
        panel=panel.votes,
    )


def _costs(start: TrialStarted, tally: Tally) -> Costs:
    """Return the costs of a trial. If calls of an imported trial have no costs, its file's total is the billed cost."""
    costs = tally.costs
    if costs.billed is None and start.imported is not None:
        return costs.model_copy(update={"billed": start.imported.billed_usd})
    return costs
