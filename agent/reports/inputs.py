"""Inputs of a scoring: the trials, the batch to compare with, and the tiers and tasks that the caller names."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from agent.errors import UserError
from agent.reports.batches import planned_units
from scoring.agentmeter.tiers import Tier, calibration_of, effort, equal_thirds
from scoring.arms.units import Unit, with_arms
from scoring.choices import UnreadableRule
from scoring.errors import ScoringError
from scoring.families.defaults import published_tiers
from scoring.report import UnreadableTrial
from scoring.rows import TrialRow, Unreadable, benchmark_of, rows_of
from scoring.selecting.judged import kept_apart
from scoring.statistics.denominators import Denominator, denominator
from trajectories.reading.runs import directories_named, listed, newest_first
from trajectories.reading.selection import EVERY, Selection, TrialFilter
from trajectories.record.layout import TrialFolder


@dataclass(frozen=True)
class Inputs:
    """Trials of one benchmark that a caller named and selected."""

    benchmark: str
    rows: list[TrialRow]
    unreadable: list[UnreadableTrial]
    """Trials that cannot be read; their benchmark is unknown."""
    source: str
    """Names that the caller gave."""
    wanted: TrialFilter
    note: str
    """Sentence about the selection; empty if all named trials are selected."""
    units: tuple[Unit, ...] = ()
    """Planned units of batches with a grid, also those without a trial."""


def read_inputs(
    names: Sequence[str], runs: Path, unreadable: UnreadableRule, wanted: TrialFilter = EVERY
) -> list[Inputs]:
    """Read the rows of trials and batches that `wanted` selects, for each benchmark.

    Raises: RecordError (ScoringError) as `read_trials` does, and if no trial is selected.
    """
    read = read_trials(names, runs, unreadable, wanted)
    units = planned_units(*read.named, read.rows, wanted)
    benchmarks: dict[str, list[TrialRow]] = {}
    for row in kept_apart(with_arms(read.rows, units)):
        benchmarks.setdefault(row.benchmark, []).append(row)
    source = ", ".join(names) or str(runs)
    return [
        Inputs(name, members, read.unreadable, source, wanted, read.note, tuple(_of_benchmark(units, name)))
        for name, members in sorted(benchmarks.items())
    ]


def _of_benchmark(units: Iterable[Unit], benchmark: str) -> Iterator[Unit]:
    return (unit for unit in units if unit.benchmark == benchmark)


@dataclass(frozen=True)
class ReadTrials:
    """Trials that were named, and those of them that are selected and can be read."""

    rows: list[TrialRow]
    unreadable: list[UnreadableTrial]
    note: str
    """Sentence about the selection; empty if all named trials are selected."""
    named: tuple[list[Path], set[Path]]
    """All named trials, and those that were named together with others."""


def read_trials(
    names: Sequence[str], runs: Path, unreadable: UnreadableRule, wanted: TrialFilter = EVERY
) -> ReadTrials:
    """Read the rows of trials and batches that `wanted` selects, and list the trials that cannot be read.

    Raises: RecordError (ScoringError), naming the trial, for a record that cannot be read, unless the trial is part of
    a batch and `unreadable` excludes it; and if no trial is selected.
    """
    directories, of_batches = directories_named(names, runs)
    selection = Selection(wanted, benchmark_of)
    in_order = newest_first(directories) if wanted.limit is not None else directories
    rows, broken = rows_of(selection.of(map(listed, in_order)))
    broken += [Unreadable(trial.directory, trial.problem) for trial in selection.unreadable]
    for trial in broken:
        if trial.directory not in of_batches:
            raise ScoringError(f"{trial.directory}: {trial.problem}")
        if unreadable == UnreadableRule.REFUSE:
            raise ScoringError(f"{trial.directory}: {trial.problem} (--unreadable exclude scores the others)")
    if not rows and wanted.has_conditions:
        raise ScoringError(selection.nothing())
    if not rows:
        raise ScoringError(f"none of {len(broken)} trials can be read; the first: {broken[0].problem}")
    if wanted.limit is not None:
        rows.sort(key=lambda row: row.directory)
    note = f"{len(rows)} of {len(directories)} trials were selected by {wanted}" if wanted != EVERY else ""
    problems = [UnreadableTrial(trial=str(trial.directory), problem=trial.problem) for trial in broken]
    return ReadTrials(rows, problems, note, (directories, of_batches))


@dataclass(frozen=True)
class ReferenceBatch:
    """The trials of a batch to compare with, as configurations of their own."""

    rows: list[TrialRow]
    setups: dict[str, str]
    """By setup of the scored trials, the setup that it is compared with."""
    unreadable: list[UnreadableTrial]


def read_reference(
    against: str | None, inputs: Inputs, runs: Path, unreadable: UnreadableRule
) -> ReferenceBatch | None:
    """Read the trial or batch that the scored trials are compared with; None if `against` names a configuration.

    A setup is compared with the same setup, or with the only one of the other batch. Conditions on benchmark and task
    hold for both.

    Raises: UserError if a trial is in both batches, if the batches are of different benchmarks, or if no setup has a
    counterpart; RecordError as `read_trials` does.
    """
    if against is None or not _names_trials(against, runs):
        return None
    rows, wanted = inputs.rows, inputs.wanted
    same = TrialFilter(benchmarks=wanted.benchmarks, tasks=wanted.tasks)
    read = read_trials([against], runs, unreadable, same)
    others, unreadable_trials = kept_apart(read.rows), read.unreadable
    if both := {row.directory for row in rows} & {row.directory for row in others}:
        raise UserError(f"--against {against}: {min(both)} is also among the scored trials")
    if others[0].benchmark != rows[0].benchmark:
        raise UserError(
            f"--against {against}: its trials are of {others[0].benchmark!r}, the scored ones of {rows[0].benchmark!r}"
        )
    name = Path(against).name
    theirs = {row.setup for row in others}
    only = next(iter(theirs)) if len(theirs) == 1 else None
    setups = {
        setup: f"{setup if setup in theirs else only}@{name}"
        for setup in {row.setup for row in rows}
        if setup in theirs or only
    }
    if not setups:
        raise UserError(f"--against {against}: none of its {len(theirs)} configurations is among the scored ones")
    marked = [
        replace(
            row,
            setup=f"{row.setup}@{name}",
            base_setup=f"{row.base_setup}@{name}",
            label=f"{row.label} @{name}",
            conditions={**row.conditions, "batch": name},
            identity=f"{row.identity}@{name}",
            harness=f"{row.harness} @{name}",  # keeps the two batches apart in tables by model and harness
        )
        for row in others
    ]
    return ReferenceBatch(marked, setups, unreadable_trials)


def _names_trials(name: str, runs: Path) -> bool:
    """Return True if this is the name of a trial or a batch rather than of a configuration."""
    places = (Path(name), runs / name)
    return any(TrialFolder(folder).is_trial() for place in places for folder in (place, *place.glob("*")))


def find_tiers(source: str, rows: Sequence[TrialRow]) -> Mapping[str, Tier] | None:
    """Return the tiers by task that the benchmark published, that are calibrated from trials, or that a file lists.

    None stands for the tiers that trials record, also if the benchmark published none.

    Raises: UserError, ScoringError.
    """
    if source == "published":
        return published_tiers(rows[0].benchmark) or None
    if source == "recorded":
        return None
    if source == "calibrate":
        return equal_thirds(effort(calibration_of(rows)))
    from scoring.input_lists import read_tiers

    return read_tiers(_existing(source, "--tiers", "published, recorded, calibrate, or a YAML or JSON file"))


def find_tasks(source: str | None, rows: Sequence[TrialRow], tiers: Collection[str]) -> Denominator:
    """Return the tasks of the benchmark: a number, the lines of a file, those that were tried, or the published ones.

    Raises: UserError, ScoringError.
    """
    if source == "tried":
        return Denominator(None)
    if source is None:
        return denominator(rows, None, tiers)
    if source.isascii() and source.isdigit():
        return denominator(rows, int(source), tiers)
    from scoring.input_lists import read_tasks

    path = _existing(source, "--tasks", "a number, tried, or a file with an id per line")
    return denominator(rows, read_tasks(path), tiers)


def _existing(name: str, option: str, choices: str) -> Path:
    if not Path(name).exists():
        raise UserError(f"{option} {name}: there is no such file; use {choices}")
    return Path(name)
