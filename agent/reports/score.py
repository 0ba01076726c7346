"""From trials to a report: the rows, their prices, tasks and budgets. Formulas are in `scoring`.

Everything comes from the records and from the choices of the caller, without models, containers or the network.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from agent.errors import UserError
from agent.reports.inputs import Inputs, find_tasks, find_tiers, read_reference
from agent.reports.profiles import find_profile
from scoring import rankings
from scoring.agentmeter.profiles import Profile, fit
from scoring.agentmeter.tiers import Tier
from scoring.arms.units import Unit
from scoring.choices import (
    AttemptRule,
    CostKind,
    DuplicateRule,
    InfrastructureRule,
    IntegrityBy,
    IntegrityRule,
    UnreadableRule,
)
from scoring.families.defaults import profile_of
from scoring.integrity import with_flags, with_rules
from scoring.interventions.chains import of_benchmark
from scoring.pricing import repriced_rows
from scoring.report import Note, RankingRow, Report, UnreadableTrial
from scoring.rows import TrialRow
from scoring.score import recorded_tiers, score
from scoring.selecting.naming import shared_conditions
from scoring.selecting.selection import select_trials, with_labels
from scoring.selecting.superseded import without_superseded
from scoring.statistics.intervals import LEVEL, REPLICATES, SEED
from trajectories.analysis.extras import MissingExtra

_MANY = 200
"""Number of trials from which applying the rules is announced: it takes about 0.04 s for each."""


@dataclass(frozen=True, kw_only=True)
class Choices:
    """Choices of the caller. The first of prices, costs and profiles makes the tables; each further one is compared by
    its ranking."""

    prices: tuple[str, ...] = ()
    """Snapshots to price trials with again; empty for the recorded prices."""
    costs: tuple[CostKind, ...] = (CostKind.COMPUTED,)
    profiles: tuple[str, ...] = ()
    """Empty for the profile of the benchmark."""
    fit_profile: str | None = None
    tiers: str = "published"
    """`published`, `recorded`, `calibrate`, or a file."""
    tasks: str | None = None
    """A number, a file, or `tried`; None is the published tasks of the benchmark."""
    infrastructure: InfrastructureRule = InfrastructureRule.EXCLUDE
    duplicates: DuplicateRule = DuplicateRule.REFUSE
    attempts: AttemptRule = AttemptRule.LATEST
    integrity: IntegrityRule = IntegrityRule.SHOW
    integrity_by: IntegrityBy | None = None
    unreadable: UnreadableRule = UnreadableRule.REFUSE
    against: str | None = None
    level: float = LEVEL
    seed: int = SEED
    replicates: int = REPLICATES

    def of_one_benchmark(self) -> list[str]:
        """Return the options that were chosen and apply to a single benchmark."""
        chosen = {
            "--tasks": self.tasks not in (None, "tried"),
            "--tiers": self.tiers not in ("published", "recorded", "calibrate"),
            "--fit-profile": self.fit_profile is not None,
            "--against": self.against is not None,
        }
        return [option for option, is_chosen in chosen.items() if is_chosen]


@dataclass(frozen=True)
class Scored:
    """A report, and its rows with the prices of its tables."""

    report: Report
    rows: list[TrialRow]


def score_trials(
    inputs: Inputs, runs: Path, choices: Choices, say: Callable[[str], None] = lambda line: None
) -> Scored:
    """Score the trials of one benchmark. `say` gets a line before something that may take long.

    Raises: RecordError (ScoringError) and UserError, naming the trial, file or option and the way out.
    """
    if choices.fit_profile is not None and choices.profiles:
        raise UserError("--fit-profile makes the profile that is used; leave out --profile")
    recorded, unreadable = inputs.rows, inputs.unreadable
    reference = read_reference(choices.against, inputs, runs, choices.unreadable)
    if reference is not None:
        recorded, unreadable = recorded + reference.rows, unreadable + reference.unreadable
    shared = shared_conditions(list({row.setup: row.conditions for row in recorded}.values()))
    recorded, integrity_note = _examined(with_labels(recorded), choices, say)
    rows, results = _priced(recorded, choices.costs[0], choices.prices[:1])
    selection = select_trials(
        rows, infrastructure=choices.infrastructure, duplicates=choices.duplicates, integrity=choices.integrity
    )
    selected = selection.rows
    pricing = results.of(selection.trials)
    given = find_tiers(choices.tiers, selected)
    denominator = find_tasks(choices.tasks, rows, given if given and choices.tiers != "published" else {})
    tiers = (
        recorded_tiers(rows, selected, denominator.tasks)
        if given is None
        else _within_tasks(given, denominator.tasks, choices, selected)
    )
    notes = [*integrity_note, *_notes_about_inputs(inputs.note, denominator.note, choices)]
    benchmark = rows[0].benchmark
    profile = find_profile(choices.profiles[0]) if choices.profiles else profile_of(benchmark)
    if choices.fit_profile is not None:
        references = set(reference.setups.values()) if reference is not None else set()
        scored = [row for row in of_benchmark(selection.trials) if row.setup not in references]
        profile = _fitted(choices.fit_profile, scored, tiers, inputs.source)
        text = f"the profile {profile.name} was fitted from these trials, and stored before they were scored"
        notes.append(Note(text, "profile"))
    scoring = _Scoring(
        choices,
        tiers=tiers,
        tasks=denominator.tasks,
        against=choices.against if reference is None else reference.setups,
        units=inputs.units,
    )
    report = scoring.report(rows, profile, choices.costs[0], choices.replicates)
    notes += repriced_rows.notes(pricing)
    notes += report.notes
    notes += [Note(f"the same in all configurations: {shared}", "shared")] if shared else []
    notes += _notes_about_costs(report, rows, choices)
    notes += _notes_about_unreadable(unreadable)
    additions = {
        "pricing": pricing,
        "unreadable": tuple(unreadable),
        "notes": tuple(notes),
        "rankings": tuple(_rankings(report, rows, recorded, profile, scoring)),
    }
    return Scored(report.model_copy(update=additions), rows)


def _examined(
    rows: Sequence[TrialRow], choices: Choices, say: Callable[[str], None]
) -> tuple[list[TrialRow], list[Note]]:
    """Return the rows with the evidence of violations, and a note if the rules could not be applied.

    Raises: MissingExtra without tree-sitter, if the caller's choice needs the rules.
    """

    def announce(number: int) -> None:
        if number >= _MANY:
            say(f"applying the integrity rules to {number:,} trials; the results are kept for the next time")

    note: list[Note] = []
    try:
        rows = with_rules(rows, choices.integrity_by, announce)
    except MissingExtra as error:
        if choices.integrity != IntegrityRule.SHOW or choices.integrity_by is not None:
            raise
        note = [Note(f"the integrity rules were not applied: {error}", "flagged")]
    return with_flags(rows, choices.integrity_by), note


@dataclass(frozen=True)
class _Scoring:
    """All that is the same in every scoring of these trials."""

    choices: Choices
    tiers: Mapping[str, Tier]
    tasks: tuple[str, ...] | None
    against: str | Mapping[str, str] | None
    units: tuple[Unit, ...]

    def report(self, rows: Sequence[TrialRow], profile: Profile, kind: CostKind, replicates: int = 1) -> Report:
        """Score the rows. One replicate is enough if only the values matter."""
        return score(
            rows,
            profile,
            tiers=self.tiers,
            tasks=self.tasks,
            cost=kind,
            infrastructure=self.choices.infrastructure,
            duplicates=self.choices.duplicates,
            attempts=self.choices.attempts,
            integrity=self.choices.integrity,
            integrity_by=self.choices.integrity_by,
            against=self.against,
            level=self.choices.level,
            seed=self.choices.seed,
            replicates=replicates,
            units=self.units,
        )


def _rankings(
    report: Report, rows: Sequence[TrialRow], recorded: Sequence[TrialRow], profile: Profile, scoring: _Scoring
) -> Iterator[RankingRow]:
    """Compare the ranking of the report with those by further prices, costs and profiles.

    Raises: UserError if profiles are to be compared and there is no AMS.
    """
    yield from rankings.within(report)
    choices = scoring.choices
    kind, prices = choices.costs[0], choices.prices[0] if choices.prices else "recorded prices"
    for other_prices in choices.prices[1:]:
        again, _ = _priced(recorded, kind, (other_prices,))
        other = scoring.report(again, profile, kind)
        yield rankings.between(report, other, f"prices {prices}", f"prices {other_prices}")
    for other_kind in choices.costs[1:]:
        again, _ = _priced(recorded, other_kind, choices.prices[:1])
        other = scoring.report(again, profile, other_kind)
        yield rankings.between(report, other, f"cost {kind}", f"cost {other_kind}")
    for name in choices.profiles[1:]:
        other = scoring.report(rows, find_profile(name), kind)
        if report.configurations[0].ams is None:
            reason = report.note("no_ams")
            raise UserError(
                f"--profile {name}: profiles differ in AMS only: {reason.text if reason is not None else 'no AMS'}"
            )
        yield rankings.between(report, other, f"profile {profile.name}", f"profile {name}")


def _within_tasks(
    tiers: Mapping[str, Tier], tasks: Collection[str] | None, choices: Choices, selected: Sequence[TrialRow]
) -> Mapping[str, Tier]:
    """Return the tiers of the tasks that the caller names: a file of tiers adds no task to these."""
    if tasks is None and choices.tasks != "tried":
        return tiers
    named = set(tasks) if tasks is not None else {row.task for row in selected}
    return {task: tier for task, tier in tiers.items() if task in named}


def _priced(
    rows: Sequence[TrialRow], kind: CostKind, prices: tuple[str, ...]
) -> tuple[list[TrialRow], repriced_rows.PricingResults]:
    """Return the rows with this kind of cost, priced again if a snapshot is named. Trials that were replaced are
    priced as well, and are in the costs of those that replaced them."""
    if prices:
        from agent.reports.prices import find_prices

        priced, results = repriced_rows.price_rows(rows, kind, find_prices(prices[0]))
    else:
        priced, results = repriced_rows.price_rows(rows, kind)
    return without_superseded(priced), results


def _fitted(name: str, rows: Sequence[TrialRow], tiers: Mapping[str, Tier], trials: str) -> Profile:
    from agent.reports.profiles import new_profile_name, store_profile

    source = f"fitted from {len(rows)} trials of {rows[0].benchmark if rows else '?'} ({trials[:200]})"
    profile = fit(rows, tiers, name=new_profile_name(name), source=source)
    store_profile(profile, name)
    return profile


def _notes_about_inputs(selection_note: str, tasks_note: str, choices: Choices) -> Iterator[Note]:
    if selection_note:
        yield Note(selection_note, "selection")
    if tasks_note:
        yield Note(tasks_note, "tasks")
    if choices.tiers == "calibrate":
        yield Note(
            "tiers were calibrated from these trials; --tiers FILE takes a report of another pool's --json", "tiers"
        )


def _notes_about_costs(report: Report, rows: Sequence[TrialRow], choices: Choices) -> Iterator[Note]:
    """Name the ways to learn an unknown cost."""
    if not report.counts.unknown_cost or choices.prices:
        return
    billed = sum(row.cost_usd is None and row.billed_usd is not None for row in rows)
    hint = f"; of {billed} the billed cost is known (--cost billed)" if billed else ""
    yield Note(f"unknown costs: --prices NAME prices trials again (agent prices list names tables){hint}", "prices")


def _notes_about_unreadable(unreadable: Sequence[UnreadableTrial]) -> Iterator[Note]:
    if unreadable:
        text = f"{len(unreadable)} unreadable, left out; the first: {unreadable[0].problem}"
        yield Note(text, "unreadable")
