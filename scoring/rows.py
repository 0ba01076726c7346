"""One row a trial: the shape that everything in `scoring` works on, and how it is read from a record.

A row holds what the record says; what counts, and how, is decided by `scoring.selection`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal, get_args

from scoring.errors import ScoringError
from trajectories.reading.runs import listed
from trajectories.reading.summary import Summary
from trajectories.record.usage import Costs, Usage
from trajectories.record.verdict import GroupScore

CostKind = Literal["billed", "computed", "list", "agentmeter"]
"""Which of a row's costs is its `cost_usd`: the provider's figure, the price snapshot's, the same without cache
discounts, or AgentMeter's eq. 2."""
COST_KINDS: tuple[CostKind, ...] = get_args(CostKind)
_NO_FACTS: Mapping[str, str] = {}
_NO_USAGE = Usage()


@dataclass(frozen=True, slots=True, kw_only=True)
class TrialRow:
    """Dollars, seconds, tokens; None is unknown, never 0.

    `configuration` is the trial's without its attempt (task included), `setup` what stays the same from task to task
    and what tables have a line for, `label` the setup for people. `trial` is its id, `directory` where it lies.
    """

    trial: str
    directory: str
    batch: str = ""
    benchmark: str
    task: str
    model_asked: str = ""
    model: str
    harness: str = "retrace"
    label: str
    setup: str
    configuration: str
    identity: str
    variant: str | None = None
    plan: bool = False
    turn: int | None = None
    attempt: int = 1
    tier: str | None = None
    facts: Mapping[str, str] = field(default_factory=lambda: _NO_FACTS)
    """What a caller knows of the task's difficulty (lines, dependencies, difficulty, language)."""
    started: str = ""
    finished: str = ""
    exit_reason: str | None = None
    exit_cause: str | None = None
    steps: int = 0
    commands: int = 0
    hints: int = 0
    failed_calls: int = 0
    unmetered_calls: int = 0
    usage: Usage = _NO_USAGE
    billed_usd: float | None = None
    computed_usd: float | None = None
    list_usd: float | None = None
    agentmeter_usd: float | None = None
    cost_usd: float | None = None
    """The one that tables use (`with_cost`)."""
    prices: str | None = None
    wall_s: float | None = None
    working_s: float | None = None
    verdict: Literal["scored", "error"] | None = None
    passed: bool | None = None
    quality: float | None = None
    metrics: Mapping[str, float] = field(default_factory=dict)
    groups: Mapping[str, GroupScore] = field(default_factory=dict)

    @property
    def tokens(self) -> int | None:
        """All prompt buckets plus output; None where no call said its usage, or a call's is unknown."""
        if self.unmetered_calls or (self.usage.input is None and self.usage.output is None):
            return None
        return self.usage.total

    @property
    def infrastructure(self) -> bool:
        """The machine, the provider, the harness or the evaluator failed: says nothing about the agent."""
        return self.exit_reason == "infrastructure" or (self.verdict == "error" and self.exit_reason is not None)

    @property
    def completed(self) -> bool:
        """Its own end: the agent's, or a limit's. Neither running, crashed, interrupted nor infrastructure."""
        return self.exit_reason in ("agent", "limit") and not self.infrastructure

    @property
    def judged(self) -> bool:
        """Whether an evaluator scored it."""
        return self.verdict == "scored"


@dataclass(frozen=True)
class Unreadable:
    """A directory that gave no row, and why."""

    directory: Path
    problem: str


def row_of(directory: Path, *, cost: CostKind = "computed") -> TrialRow:
    """A trial's row, from `trial.json` where that is newer than the events, else from the events.

    Raises: ScoringError, naming the directory, if the record cannot be read.
    """
    found = listed(directory)
    if found.summary is None:
        raise ScoringError(f"{directory}: {found.problem}")
    return _row(found.summary, directory, cost)


def read_rows(directories: Iterable[Path], *, cost: CostKind = "computed") -> tuple[list[TrialRow], list[Unreadable]]:
    """The rows of these trials in this order, and those that gave none. 0.1 ms a trial with a fresh `trial.json`."""
    rows: list[TrialRow] = []
    unreadable: list[Unreadable] = []
    for directory in directories:
        found = listed(directory)
        if found.summary is None:
            unreadable.append(Unreadable(directory, found.problem))
        else:
            rows.append(_row(found.summary, directory, cost))
    return rows, unreadable


def with_cost(row: TrialRow, kind: CostKind) -> TrialRow:
    """The row with this of its costs as `cost_usd`."""
    return replace(row, cost_usd=_cost(row, kind))


def repriced(
    row: TrialRow, costs: Costs, agentmeter_usd: float | None, *, prices: str, cost: CostKind = "computed"
) -> TrialRow:
    """Return the row with costs computed with another price snapshot, and that snapshot's name."""
    return with_cost(
        replace(
            row,
            billed_usd=costs.billed if row.billed_usd is None else row.billed_usd,
            computed_usd=costs.computed,
            list_usd=costs.list,
            agentmeter_usd=agentmeter_usd,
            prices=prices,
        ),
        cost,
    )


def _cost(row: TrialRow, kind: CostKind) -> float | None:
    match kind:
        case "billed":
            return row.billed_usd
        case "computed":
            return row.computed_usd
        case "list":
            return row.list_usd
        case "agentmeter":
            return row.agentmeter_usd


def _row(summary: Summary, directory: Path, cost: CostKind) -> TrialRow:
    entry, verdict, costs = summary.entry, summary.verdict, summary.cost_usd
    chosen = {"billed": costs.billed, "computed": costs.computed, "list": costs.list, "agentmeter": None}[cost]
    return TrialRow(
        trial=entry.id or directory.name,
        directory=str(directory),
        batch=directory.parent.name,
        benchmark=entry.benchmark,
        task=summary.task,
        model_asked=summary.model,
        model=entry.model,
        harness=entry.harness,
        label=entry.label,
        setup=entry.setup,
        configuration=entry.configuration,
        identity=entry.identity,
        variant=entry.variant,
        plan=entry.plan,
        turn=entry.turn,
        attempt=summary.attempt,
        tier=entry.tier,
        started=summary.started,
        finished=summary.finished,
        exit_reason=summary.exit.reason if summary.exit else None,
        exit_cause=summary.exit.cause if summary.exit else None,
        steps=summary.steps,
        commands=summary.commands,
        hints=summary.hints,
        failed_calls=summary.failed_calls,
        unmetered_calls=summary.unmetered_calls,
        usage=summary.usage,
        billed_usd=costs.billed,
        computed_usd=costs.computed,
        list_usd=costs.list,
        cost_usd=chosen,
        prices=entry.prices,
        wall_s=summary.wall_s,
        working_s=summary.working_s,
        verdict=verdict.status if verdict else None,
        passed=verdict.passed if verdict else None,
        quality=verdict.quality if verdict else None,
        metrics=verdict.metrics if verdict else {},
        groups=verdict.groups if verdict else {},
    )
