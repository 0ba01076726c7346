"""The planned units of batches, for the tables by arm: also those that have no trial yet.

Only a batch whose whole folder was named has all of its units counted; conditions on tasks and models hold for them.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from pathlib import Path

from scoring.arms.units import Unit as ArmUnit, unit_of
from scoring.families.programbench_tasks import scored_benchmark
from scoring.rows import TrialRow
from scoring.selecting.naming import configuration_names
from trajectories.batches.configuration import Configuration
from trajectories.batches.reader import Batch, read_batch
from trajectories.batches.results import UNREADABLE, UnitResult, result_of
from trajectories.reading.entry import TrialEntry
from trajectories.reading.selection import TrialFilter, fits
from trajectories.record.layout import BatchFolder


def planned_units(
    trials: Collection[Path], together: Collection[Path], rows: Iterable[TrialRow], wanted: TrialFilter
) -> list[ArmUnit]:
    """Return the units of the batches that these trials are part of; none for folders without a grid.

    `together` are the trials that were named with their batch. Of a batch that was not named as a whole, and with
    conditions that only a trial can meet, only units with one of the `rows` are returned.

    Raises: RecordError if a file of a batch is damaged.
    """
    folders = dict.fromkeys(trial.parent for trial in trials if BatchFolder(trial.parent).is_batch())
    if not folders:
        return []
    batches = [read_batch(folder) for folder in folders]
    whole = {trial.parent for trial in together}
    if wanted.labels or wanted.since or wanted.limit is not None:
        whole = set()
    completed: dict[str, bool] = {}
    for row in rows:
        completed[unit_of(row)] = row.completed or completed.get(unit_of(row), False)
    names = _model_names(configuration for batch in batches for configuration in batch.configurations.values())
    return [
        unit
        for batch in batches
        for unit in _units_of(batch, names, completed, wanted if batch.directory in whole else None)
    ]


def state_of(result: UnitResult) -> str:
    """Return why a unit has not come to its end, in a few words; empty if it has."""
    last = result.unit.last
    match result.state:
        case "planned" if last is not None and last.status == "waiting":
            return f"waiting for {last.cause}"
        case "planned" if last is not None and last.status == "finished":
            return "record missing"
        case "planned":
            return "not begun"
        case "waiting":
            return f"waiting for {result.cause or 'budget'}"
        case "failed" if result.cause == UNREADABLE:
            return "record unreadable"
        case "failed":
            return f"ended by {result.cause}"
        case "running" | "interrupted":
            return result.state
        case _:
            return ""


def _units_of(
    batch: Batch, names: Mapping[str, str], completed: Mapping[str, bool], wanted: TrialFilter | None
) -> Iterator[ArmUnit]:
    """Yield the units that meet the conditions (None: no unit does), and those that have a row."""
    places = {arm: place for place, arm in enumerate(_arms(batch))}
    for unit in batch.units:
        directory = str(batch.directory / unit.trial)
        configuration = unit.configuration
        if directory not in completed and (wanted is None or not _meets(configuration, wanted)):
            continue
        yield ArmUnit(
            batch=batch.directory.resolve().name,
            arm=unit.arm,
            place=places[unit.arm],
            model=names[_model_key(configuration)],
            benchmark=scored_benchmark(configuration.first.task.benchmark, configuration.first.task.id),
            task=configuration.first.task.id,
            directory=directory,
            state="" if completed.get(directory) else state_of(result_of(unit)),
        )


def _arms(batch: Batch) -> Iterable[str]:
    """Return the arms in the order of the spec, then others in the order of the grid."""
    arms = batch.opened.spec.get("arms")
    named = [*arms] if isinstance(arms, dict) else []
    return dict.fromkeys([*named, *(configuration.arm for configuration in batch.configurations.values())])


def _meets(configuration: Configuration, wanted: TrialFilter) -> bool:
    first = configuration.first
    names = {
        "task": (first.task.id,),
        "model": (first.model.asked, first.model.name),
        "benchmark": (scored_benchmark(first.task.benchmark, first.task.id),),
    }
    return all(
        any(fits(pattern, name) for pattern in patterns for name in names[condition])
        for condition, patterns in wanted.patterns.items()
    )


def _model_names(configurations: Iterable[Configuration]) -> dict[str, str]:
    """Return a name for each model with its settings."""
    conditions: dict[str, dict[str, str]] = {}
    for configuration in configurations:
        conditions.setdefault(_model_key(configuration), _model_conditions(configuration))
    return configuration_names(conditions)


def _model_key(configuration: Configuration) -> str:
    return "\n".join(f"{name}\t{value}" for name, value in _model_conditions(configuration).items())


def _model_conditions(configuration: Configuration) -> dict[str, str]:
    conditions = TrialEntry.of(configuration.first).conditions
    return {name: value for name, value in conditions.items() if name == "model" or name.startswith("setting ")}
