"""Trials to a report: which rows, priced how, over which tasks and budgets. What figures are, `scoring` knows.

Everything comes from the records and from what the caller names; no model, container or network is asked.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from agent.errors import UserError
from scoring.agentmeter.profiles import AGENTMETER, Profile, fit
from scoring.agentmeter.tiers import Tier, calibration_of, effort, equal_thirds, tiers_of
from scoring.errors import ScoringError
from scoring.pricing import repriced_rows
from scoring.report import Attempts, RankingRow, Report, UnreadableTrial
from scoring.rows import CostKind, TrialRow, read_rows
from scoring.score import score
from scoring.selection import Duplicates, Infrastructure, counted
from scoring.statistics import denominators, rank_agreement as rankings
from scoring.statistics.intervals import LEVEL, REPLICATES, SEED
from trajectories.reading.runs import directories_named
from trajectories.record.layout import EVENTS


@dataclass(frozen=True, kw_only=True)
class Choices:
    """What the caller chose. Of prices, costs and profiles the first makes the tables, each further one a ranking."""

    prices: tuple[str, ...] = ()
    """Snapshots to price again with; none is what each trial recorded."""
    costs: tuple[CostKind, ...] = ("computed",)
    profiles: tuple[str, ...] = (AGENTMETER.name,)
    fit_profile: str | None = None
    tiers: str = "recorded"
    """`recorded`, `calibrate`, or a file."""
    tasks: str | None = None
    """A number, a file, or `tried`; None is the benchmark's published size."""
    infrastructure: Infrastructure = "exclude"
    duplicates: Duplicates = "refuse"
    attempts: Attempts = "latest"
    unreadable: Literal["refuse", "exclude"] = "refuse"
    """What a trial of a batch that cannot be read is; one that was named is always an error."""
    against: str | None = None
    level: float = LEVEL
    seed: int = SEED
    replicates: int = REPLICATES


@dataclass(frozen=True)
class Scored:
    """A report, and the rows it is of, priced as its tables are."""

    report: Report
    rows: list[TrialRow]


def score_trials(names: Sequence[str], runs: Path, choices: Choices) -> Scored:
    """Score trials by name, directory or batch.

    Raises: RecordError (ScoringError) and UserError, naming the trial, file or option and the way out.
    """
    if choices.fit_profile is not None and choices.profiles != (AGENTMETER.name,):
        raise UserError("--fit-profile makes the profile that is used; leave out --profile")
    recorded, unreadable = _read(names, runs, choices)
    recorded, pairs = _with_others(recorded, unreadable, choices, runs)
    rows, priced = _priced(recorded, choices, choices.costs[0], *choices.prices[:1])
    others = set((pairs or {}).values())
    chosen = counted(rows, infrastructure=choices.infrastructure, duplicates=choices.duplicates).rows
    pricing = priced.of(chosen)
    tiers = _tiers(choices.tiers, chosen)
    tasks, tasks_note = _tasks(choices.tasks, rows, tiers if choices.tiers != "recorded" else {})
    if tasks is not None or choices.tasks == "tried":  # a file of tiers adds no task to those that were said
        said = set(tasks) if tasks is not None else {row.task for row in chosen}
        tiers = {task: tier for task, tier in tiers.items() if task in said}
    profile = _profile(choices.profiles[0])
    notes = [tasks_note] if tasks_note else []
    if choices.tiers == "calibrate":
        notes.append("tiers were calibrated from these trials; --tiers FILE takes a report of another pool's --json")
    if choices.fit_profile is not None:
        profile = _fitted(choices.fit_profile, [row for row in chosen if row.setup not in others], tiers, names)
        notes.append(f"the profile {profile.name} was fitted from these trials, and stored before they were scored")

    def scored(some: Sequence[TrialRow], profile: Profile, replicates: int, kind: CostKind) -> Report:
        return score(
            some,
            profile,
            tiers=None if choices.tiers == "recorded" else tiers,
            tasks=tasks,
            cost=kind,
            infrastructure=choices.infrastructure,
            duplicates=choices.duplicates,
            attempts=choices.attempts,
            against=pairs if pairs is not None else choices.against,
            level=choices.level,
            seed=choices.seed,
            replicates=replicates,
        )

    report = scored(rows, profile, choices.replicates, choices.costs[0])
    found: list[RankingRow] = rankings.within(report)
    first = (choices.prices[0] if choices.prices else "recorded prices", choices.costs[0], profile.name)
    for prices in choices.prices[1:]:
        again, _ = _priced(recorded, choices, choices.costs[0], prices)
        other = scored(again, profile, 1, choices.costs[0])
        found.append(rankings.between(report, other, f"prices {first[0]}", f"prices {prices}"))
    for kind in choices.costs[1:]:
        again, _ = _priced(recorded, choices, kind, *choices.prices[:1])
        found.append(rankings.between(report, scored(again, profile, 1, kind), f"cost {first[1]}", f"cost {kind}"))
    for name in choices.profiles[1:]:
        other = scored(rows, _profile(name), 1, choices.costs[0])
        if report.configurations[0].ams is None:
            why = next((note for note in report.notes if note.startswith("no AMS: ")), "no AMS")
            raise UserError(f"--profile {name}: profiles differ in AMS only: {why}")
        found.append(rankings.between(report, other, f"profile {first[2]}", f"profile {name}"))
    return Scored(
        report.model_copy(
            update={
                "pricing": pricing,
                "unreadable": tuple(unreadable),
                "notes": (
                    *notes,
                    *repriced_rows.notes(pricing),
                    *report.notes,
                    *_ways_out(report, rows, choices),
                    *_unread(unreadable),
                ),
                "rankings": tuple(found),
            }
        ),
        rows,
    )


def _read(names: Sequence[str], runs: Path, choices: Choices) -> tuple[list[TrialRow], list[UnreadableTrial]]:
    directories, of_batches = directories_named(names, runs)
    rows, broken = read_rows(directories)
    for one in broken:
        if one.directory not in of_batches:
            raise ScoringError(f"{one.directory}: {one.problem}")
        if choices.unreadable == "refuse":
            raise ScoringError(f"{one.directory}: {one.problem} (--unreadable exclude scores the others)")
    if not rows:
        raise ScoringError(f"none of {len(broken)} trials can be read; the first: {broken[0].problem}")
    return rows, [UnreadableTrial(trial=str(one.directory), problem=one.problem) for one in broken]


def _with_others(
    rows: list[TrialRow], unreadable: list[UnreadableTrial], choices: Choices, runs: Path
) -> tuple[list[TrialRow], Mapping[str, str] | None]:
    """With the trials of a batch to compare with, as configurations of their own, and which is compared with which."""
    against = choices.against
    if against is None or not _is_trials(against, runs):
        return rows, None
    others, broken = _read([against], runs, choices)
    unreadable += broken
    if both := {row.directory for row in rows} & {row.directory for row in others}:
        raise UserError(f"--against {against}: {min(both)} is among the trials that are scored, too")
    if others[0].benchmark != rows[0].benchmark:
        raise UserError(
            f"--against {against}: its trials are of {others[0].benchmark!r}, those that are scored of "
            f"{rows[0].benchmark!r}"
        )
    name = Path(against).name
    marked = [
        replace(
            row,
            setup=f"{row.setup}@{name}",
            label=f"{row.label} @{name}",
            identity=f"{row.identity}@{name}",
            harness=f"{row.harness} @{name}",  # tables by model and harness keep the two apart
        )
        for row in others
    ]
    theirs = {row.setup for row in others}
    ours = {row.setup for row in rows}
    only = next(iter(theirs)) if len(theirs) == 1 else None
    pairs = {setup: f"{setup if setup in theirs else only}@{name}" for setup in ours if setup in theirs or only}
    if not pairs:
        raise UserError(f"--against {against}: none of its {len(theirs)} configurations is among those that are scored")
    return rows + marked, pairs


def _is_trials(name: str, runs: Path) -> bool:
    return any((place / EVENTS).is_file() or any(place.glob(f"*/{EVENTS}")) for place in (Path(name), runs / name))


def _priced(
    rows: Sequence[TrialRow], choices: Choices, kind: CostKind, prices: str | None = None
) -> tuple[list[TrialRow], repriced_rows.Priced]:
    if prices is None:
        return repriced_rows.priced(rows, kind)
    from agent.reports.prices import find_prices

    return repriced_rows.priced(rows, kind, find_prices(prices))


def _tiers(said: str, chosen: Sequence[TrialRow]) -> Mapping[str, Tier]:
    if said == "recorded":
        return tiers_of(chosen)
    if said == "calibrate":
        return equal_thirds(effort(calibration_of(chosen)))
    from scoring.given import read_tiers

    return read_tiers(_listed(said, "--tiers", "recorded, calibrate, or a YAML or JSON file"))


def _tasks(said: str | None, rows: Sequence[TrialRow], tiers: Collection[str]) -> tuple[tuple[str, ...] | None, str]:
    if said == "tried":
        return None, ""
    from scoring.given import read_tasks

    count = int(said) if said is not None and said.isascii() and said.isdigit() else None
    wanted = (
        count
        if count is not None or said is None
        else read_tasks(_listed(said, "--tasks", "a number, tried, or a file with an id a line"))
    )
    found = denominators.denominator(rows, wanted, tiers)
    return found.tasks, found.note


def _listed(said: str, option: str, choices: str) -> Path:
    if not Path(said).exists():
        raise UserError(f"{option} {said}: there is no such file; it is {choices}")
    return Path(said)


def _profile(said: str) -> Profile:
    if said == AGENTMETER.name:
        return AGENTMETER
    from agent.reports.profiles import find_profile

    return find_profile(said)


def _fitted(said: str, chosen: Sequence[TrialRow], tiers: Mapping[str, Tier], names: Sequence[str]) -> Profile:
    from agent.reports.profiles import keep, name_of_new

    source = f"fitted from {len(chosen)} trials of {chosen[0].benchmark if chosen else '?'} ({', '.join(names)[:200]})"
    profile = fit(chosen, tiers, name=name_of_new(said), source=source)
    keep(profile, said)
    return profile


def _ways_out(report: Report, rows: Sequence[TrialRow], choices: Choices) -> list[str]:
    """How a cost that is unknown may be had."""
    if not report.counts.unknown_cost or choices.prices:
        return []
    billed = sum(row.cost_usd is None and row.billed_usd is not None for row in rows)
    known = f"; of {billed} the billed cost is known (--cost billed)" if billed else ""
    return [f"unknown costs: --prices NAME prices trials again (agent prices list names tables){known}"]


def _unread(unreadable: Sequence[UnreadableTrial]) -> list[str]:
    return [f"{len(unreadable)} unreadable, left out; the first: {unreadable[0].problem}"] if unreadable else []
