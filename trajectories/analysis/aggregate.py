"""Several trials together: a flat row for each trial, and sums and spreads over all. CSV and JSON are made of these."""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import mean, median

from pydantic import BaseModel

from trajectories.analysis.commands.classes import PRIORITY, ActionClass
from trajectories.analysis.extras import MissingExtra
from trajectories.analysis.report import TrialAnalysis
from trajectories.errors import RecordError
from trajectories.reading.runs import directories_named

Cell = str | int | float | None


class Unreadable(BaseModel):
    """A trial of a batch that could not be analyzed."""

    trial: str
    problem: str


class Spread(BaseModel):
    """One figure over the trials for which it is known."""

    known: int
    mean: float
    median: float
    min: float
    max: float


class Aggregate(BaseModel):
    """Sums and spreads over all analyzed trials."""

    trials: int
    actions: dict[ActionClass, int]
    turns: dict[ActionClass, int]
    action_shares: dict[ActionClass, float]
    """Share of each class among all actions; empty if there are no actions."""
    spreads: dict[str, Spread]
    """Spread of each figure by its name in the CSV; a figure that is unknown for every trial is left out."""


class Analysis(BaseModel):
    """The object that `agent analyze --json` prints."""

    trials: list[TrialAnalysis]
    unreadable: list[Unreadable] = []
    aggregate: Aggregate


def analyze_trials(names: Sequence[str], runs: Path) -> Analysis:
    """Analyze trials by name, directory or batch; list the trials of a batch that cannot be read.

    Raises: RecordError if a trial that was named itself, or every trial of the batches, cannot be read; MissingExtra.
    """
    from trajectories.analysis.trial import analyze_trial

    directories, of_batches = directories_named(names, runs)
    trials: list[TrialAnalysis] = []
    unreadable: list[Unreadable] = []
    for directory in directories:
        try:
            trials.append(analyze_trial(directory))
        except RecordError as error:
            if directory not in of_batches or isinstance(error, MissingExtra):
                raise
            unreadable.append(Unreadable(trial=str(directory), problem=str(error)))
    if not trials:
        raise RecordError(f"none of {len(unreadable)} trials can be read; the first: {unreadable[0].problem}")
    return Analysis(trials=trials, unreadable=unreadable, aggregate=aggregate(trials))


def row(trial: TrialAnalysis) -> dict[str, Cell]:
    """Return one trial's figures in the order of the CSV's columns; None stands for an unknown figure."""
    growth, files, structure = trial.growth, trial.files, trial.structure
    largest = growth.largest_step if growth else None
    functions = structure.functions if structure else None
    observations, outcomes = trial.observations, trial.outcomes
    main = next(iter(structure.languages), None) if structure else None
    return {
        "trial": trial.trial,
        "task": trial.task,
        "model": trial.model,
        "exit": trial.exit,
        "steps": trial.steps,
        "actions": trial.actions.total,
        **{f"actions_{kind}": trial.actions.by_class[kind] for kind in PRIORITY},
        "actions_unparsed": trial.actions.unparsed,
        **{f"turns_{kind}": trial.turns.by_class[kind] for kind in PRIORITY},
        "turns_without_action": trial.turns.without_action,
        "initial_lines": growth.initial_lines if growth else None,
        "final_lines": growth.final_lines if growth else structure.lines if structure else None,
        "written_lines": growth.written_lines if growth else None,
        "surviving_lines": growth.surviving_lines if growth else None,
        "largest_step": largest.step if largest else None,
        "largest_step_lines": largest.lines if largest else None,
        "largest_step_share": largest.share if largest else None,
        "files_created": files.created if files else None,
        "files_modified": files.modified if files else None,
        "files_deleted": files.deleted if files else None,
        "files": structure.files if structure else None,
        "source_files": structure.source_files if structure else None,
        "deepest": structure.deepest if structure else None,
        "mean_depth": structure.mean_depth if structure else None,
        "languages": len(structure.languages) if structure else None,
        "main_language": main,
        "main_language_share": structure.languages[main].share if structure and main else None,
        "functions": functions.count if functions else None,
        "function_mean_lines": functions.mean_lines if functions else None,
        "function_median_lines": functions.median_lines if functions else None,
        "function_longest_lines": functions.longest_lines if functions else None,
        "repetitions": len(trial.repetitions),
        "repeated_actions": trial.repeated_actions,
        "observations": observations.count,
        "observation_tokens": observations.tokens,
        "observation_added_tokens": observations.added_tokens,
        "prompt_tokens": observations.prompt_tokens,
        "known_exit_codes": outcomes.known_exit_codes,
        "non_zero": outcomes.non_zero,
        "non_zero_share": outcomes.non_zero_share,
        "longest_failing_run": outcomes.longest_failing_run,
        "recoveries": outcomes.recoveries,
        **{f"ended_{ending}": outcomes.ended.get(ending, 0) for ending in ("deadline", "oom", "output_cap")},
        **{f"seconds_{kind}": _seconds(trial, kind) for kind in PRIORITY},
        "unknown_durations": outcomes.unknown_durations,
    }


def _seconds(trial: TrialAnalysis, kind: ActionClass) -> float | None:
    """Return the seconds spent in a class; None if it has actions and the duration of none is known."""
    return trial.outcomes.seconds.get(kind, None if trial.actions.by_class[kind] else 0.0)


def aggregate(trials: Sequence[TrialAnalysis]) -> Aggregate:
    """Sum the classes over the trials and compute the spread of every figure."""
    actions = {kind: sum(trial.actions.by_class[kind] for trial in trials) for kind in PRIORITY}
    total = sum(actions.values())
    rows = [row(trial) for trial in trials]
    spreads: dict[str, Spread] = {}
    for name in rows[0] if rows else ():
        values = [cell for row_of_trial in rows if isinstance(cell := row_of_trial[name], int | float)]
        if values:
            spreads[name] = Spread(
                known=len(values), mean=round(mean(values), 4), median=median(values), min=min(values), max=max(values)
            )
    return Aggregate(
        trials=len(trials),
        actions=actions,
        turns={kind: sum(trial.turns.by_class[kind] for trial in trials) for kind in PRIORITY},
        action_shares={kind: round(count / total, 4) for kind, count in actions.items()} if total else {},
        spreads=spreads,
    )


def write_csv(path: Path, trials: Sequence[TrialAnalysis]) -> None:
    """Write a header and one row for each trial; an unknown figure is an empty cell.

    Raises: RecordError if the file cannot be written.
    """
    write_rows(path, [row(trial) for trial in trials])


def write_rows(path: Path, rows: Sequence[Mapping[str, Cell]]) -> None:
    """Write a header and rows that have the same columns; None becomes an empty cell.

    Raises: RecordError if the file cannot be written.
    """
    try:
        with path.open("w", newline="", encoding="utf-8", errors="replace") as file:
            writer = csv.DictWriter(file, fieldnames=list(rows[0]))
            writer.writeheader()
            writer.writerows(rows)
    except OSError as error:
        raise RecordError(f"{path}: the table cannot be written ({error.strerror})") from None
