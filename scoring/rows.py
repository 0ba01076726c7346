"""Rows of trials: the shape that everything in `scoring` works on, read from a trial's record.

A row holds what the record says. `scoring.selecting.selection` decides which trials count, and how.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal

from scoring.choices import CostKind, UnreadableRule
from scoring.errors import ScoringError
from scoring.evidence import Evidence
from scoring.families.programbench_tasks import scored_benchmark
from scoring.interventions.facts import NONE, InterventionFacts, cost_of_kind, facts_of, facts_with_cost
from scoring.verdict_words import judged_as
from trajectories.reading.runs import Listed, listed
from trajectories.reading.summary import Summary
from trajectories.record.layout import TrialFolder
from trajectories.record.usage import Costs, Usage
from trajectories.record.verdict import GroupScore

_NO_EVIDENCE = Evidence()
_NO_FACTS: Mapping[str, str] = {}
_NO_USAGE = Usage()


@dataclass(frozen=True, slots=True, kw_only=True)
class TrialRow:
    """One trial: dollars, seconds, tokens. None is unknown, never 0.

    `configuration` identifies the trial without its attempt (the task is part of it). `setup` is the part that stays
    the same from task to task; tables have a line for each setup. `label` is the setup's name for people. `trial` is
    the trial's id, `directory` its place on disk. `benchmark` is `programbench-own` for an instance of ProgramBench
    that is not among its 200, so that no score mixes them.
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
    description: str = ""
    """Description of the setup by itself; lines that are equally good are in its order."""
    conditions: Mapping[str, str] = field(default_factory=lambda: _NO_FACTS)
    """Conditions of the setup by name; empty if `label` is already a name that no other setup has."""
    setup: str
    configuration: str
    identity: str
    variant: str | None = None
    base_setup: str = ""
    """Setup without plan, chain and expert, which their effect is measured against."""
    plan: bool = False
    turn: int | None = None
    mode: str = "base"
    interventions: InterventionFacts = NONE
    """Chain, expert and plan of the trial."""
    attempt: int = 1
    arm: str | None = None
    """Arm of the batch that the trial is part of. None outside of a batch with a grid."""
    replaces: str | None = None
    """Trial that this one replaced. None for other trials, and once `superseded` counts those that it replaced."""
    superseded: int = 0
    """Number of trials that this one replaced; their costs are among its own (`scoring.selecting.superseded`)."""
    superseded_usd: float | None = 0.0
    """Part of `cost_usd` that the replaced trials cost."""
    trial_label: str | None = None
    """Label that the user gave to the trial."""
    tier: str | None = None
    prompt: str | None = None
    prompt_sha256: str | None = None
    facts: Mapping[str, str] = field(default_factory=lambda: _NO_FACTS)
    """Facts about the task that a caller knows (lines, dependencies, difficulty, language)."""
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
    """The cost that tables use; `with_cost` chooses it."""
    prices: str | None = None
    wall_s: float | None = None
    working_s: float | None = None
    verdict: Literal["scored", "error"] | None = None
    passed: bool | None = None
    quality: float | None = None
    judged_as: str | None = None
    """What was judged, in which form and with which settings, and if the score cannot be compared.

    None without a score.
    """
    metrics: Mapping[str, float] = field(default_factory=dict)
    groups: Mapping[str, GroupScore] = field(default_factory=dict)
    evidence: Evidence = _NO_EVIDENCE
    """Evidence of violations of the benchmark's rules."""
    flagged: bool | None = None
    """True if the evidence shows a violation (`scoring.integrity`). None if nothing was examined."""
    flagged_by: str | None = None
    """Kinds of evidence that flag the trial, joined with `+`."""

    @property
    def tokens(self) -> int | None:
        """All prompt buckets plus output. None if no call reported its usage, or the usage of a call is unknown."""
        if self.unmetered_calls or (self.usage.input is None and self.usage.output is None):
            return None
        return self.usage.total

    @property
    def infrastructure(self) -> bool:
        """True if the machine, the provider, the harness or the evaluator failed, so it says nothing about the
        agent."""
        return self.exit_reason == "infrastructure" or (self.verdict == "error" and self.exit_reason is not None)

    @property
    def completed(self) -> bool:
        """True if the agent or a limit ended the trial; false if it is running, crashed, interrupted or was ended by
        the infrastructure."""
        return self.exit_reason in ("agent", "limit") and not self.infrastructure

    @property
    def judged(self) -> bool:
        """True if an evaluator scored it."""
        return self.verdict == "scored"


@dataclass(frozen=True)
class Unreadable:
    """A directory without a readable record, and the reason."""

    directory: Path
    problem: str


def row_of(directory: Path, *, cost: CostKind = CostKind.COMPUTED) -> TrialRow:
    """Return the row of a trial, from `trial.json` if it is newer than the events, otherwise from the events.

    Raises: ScoringError, naming the directory, if the record cannot be read.
    """
    listing = listed(directory)
    if listing.summary is None:
        raise ScoringError(f"{directory}: {listing.problem}")
    return _row(listing.summary, directory, cost)


def read_rows(
    places: Iterable[Path | str],
    *,
    cost: CostKind = CostKind.COMPUTED,
    unreadable: UnreadableRule = UnreadableRule.REFUSE,
) -> list[TrialRow]:
    """Return the rows of these trials, given by their directories or by the folders that hold them.

    A trial with a fresh `trial.json` takes 0.1 ms.

    Raises: ScoringError, naming the directory, for a place without trials, and for a record that cannot be read unless
    these are excluded.
    """
    directories = dict.fromkeys(directory for place in places for directory in _trials_in(Path(place)))
    rows, problems = rows_of(map(listed, directories), cost=cost)
    if problems and unreadable == UnreadableRule.REFUSE:
        raise ScoringError(f"{problems[0].directory}: {problems[0].problem} (unreadable='exclude' reads the others)")
    return rows


def rows_of(trials: Iterable[Listed], *, cost: CostKind = CostKind.COMPUTED) -> tuple[list[TrialRow], list[Unreadable]]:
    """Return the rows of these trials in this order, and those that cannot be read."""
    rows: list[TrialRow] = []
    unreadable: list[Unreadable] = []
    conditions: dict[str, Mapping[str, str]] = {}  # shared by the rows of a setup
    for trial in trials:
        if trial.summary is None:
            unreadable.append(Unreadable(trial.directory, trial.problem))
        else:
            row = _row(trial.summary, trial.directory, cost)
            rows.append(replace(row, conditions=conditions.setdefault(row.setup, row.conditions)))
    return rows, unreadable


def benchmark_of(summary: Summary) -> str:
    """Return the benchmark in whose score a trial belongs."""
    return scored_benchmark(summary.entry.benchmark, summary.task)


def _trials_in(place: Path) -> list[Path]:
    if TrialFolder(place).is_trial():
        return [place]
    trials = sorted(entry for entry in place.glob("*") if TrialFolder(entry).is_trial())
    if not trials:
        raise ScoringError(f"{place}: neither a trial nor a folder of trials")
    return trials


def with_cost(row: TrialRow, kind: CostKind) -> TrialRow:
    """Return the row with the cost of this kind as its `cost_usd`."""
    return replace(row, cost_usd=_cost(row, kind), interventions=facts_with_cost(row.interventions, kind))


def repriced(
    row: TrialRow, costs: Costs, agentmeter_usd: float | None, *, prices: str, cost: CostKind = CostKind.COMPUTED
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
        case CostKind.BILLED:
            return row.billed_usd
        case CostKind.COMPUTED:
            return row.computed_usd
        case CostKind.LIST:
            return row.list_usd
        case CostKind.AGENTMETER:
            return row.agentmeter_usd


def _row(summary: Summary, directory: Path, cost: CostKind) -> TrialRow:
    entry, verdict, costs = summary.entry, summary.verdict, summary.cost_usd
    return TrialRow(
        trial=entry.id or directory.name,
        directory=str(directory),
        batch=directory.parent.name,
        benchmark=benchmark_of(summary),
        trial_label=summary.label,
        task=summary.task,
        model_asked=summary.model,
        model=entry.model,
        harness=entry.harness,
        label=entry.label,
        description=entry.label,
        conditions=entry.conditions,
        setup=entry.setup,
        base_setup=entry.base_setup,
        configuration=entry.configuration,
        identity=entry.identity,
        variant=entry.variant,
        plan=entry.plan,
        turn=entry.turn,
        mode=entry.mode,
        interventions=facts_of(summary, cost),
        attempt=summary.attempt,
        replaces=summary.replaces,
        tier=entry.tier,
        prompt=entry.prompt,
        prompt_sha256=entry.prompt_sha256,
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
        cost_usd=cost_of_kind(costs, cost),
        prices=entry.prices,
        wall_s=summary.wall_s,
        working_s=summary.working_s,
        verdict=verdict.status if verdict else None,
        passed=verdict.passed if verdict else None,
        quality=verdict.quality if verdict else None,
        judged_as=judged_as(verdict) if verdict and verdict.status == "scored" else None,
        metrics=verdict.metrics if verdict else {},
        groups=verdict.groups if verdict else {},
        evidence=Evidence(
            panel=summary.panel,
            tampered=None if verdict is None or verdict.tampered is None else bool(verdict.tampered),
        ),
    )
