"""Measures of batches: reading a large one, beside a bare scan of its folder and its trial files.

Those of batches that run are in `batch_load`.
"""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

from scripts.measures import batch_load, batch_ray
from scripts.measures.figures import Figure, interleaved
from scripts.measures.trial import solve
from trajectories.batches.configuration import Configuration
from trajectories.batches.events import BatchOpened, Ended, Holder, Planned, Started
from trajectories.batches.grid import append_to_grid
from trajectories.batches.journal import BatchWriter
from trajectories.batches.reader import read_batch
from trajectories.batches.results import results_of
from trajectories.reading.reader import first_event
from trajectories.record.events import TrialStarted
from trajectories.record.layout import EVENTS, SUMMARY
from trajectories.writing.claim import stem_of

UNITS = 10_000
ATTEMPTS = 5


def measure() -> Iterator[Figure]:
    """Yield all figures."""
    with tempfile.TemporaryDirectory() as folder:
        yield reading_time(Path(folder))
    yield from batch_load.figures()
    yield from batch_ray.figures()


def reading_time(folder: Path) -> Figure:
    """Read a batch of finished trials with all their results, in turn with a bare scan of the same files."""
    batch = folder / "many"
    write_finished(batch, solve(str(folder), "nop", "--env", "sandbox"), UNITS)
    read_s, bare_s = interleaved(lambda: _read(batch), lambda: _scan(batch), runs=5)
    detail = f"{read_s:.2f} s against {bare_s:.2f} s for a scan of the folder and json.loads of each {SUMMARY}"
    return Figure(f"reading a batch of {UNITS:,} finished trials, against a bare scan", read_s / bare_s, "", 2, detail)


def write_finished(batch: Path, trial: Path, units: int) -> None:
    """Make a batch of copies of a finished trial, as a coordinator leaves it behind."""
    batch.mkdir()
    configurations = [_configuration(first_event(trial), number) for number in range(units // ATTEMPTS)]
    append_to_grid(batch, configurations)
    planned = [(each, attempt) for each in configurations for attempt in range(1, ATTEMPTS + 1)]
    with BatchWriter(batch) as writer:
        holder = Holder(host="node", pid=1)
        writer.append(BatchOpened(coordinator=holder, spec={}, engine="local", workers=4, evaluations=2, reruns=2))
        for each, attempt in planned:
            unit, name = each.unit(attempt), each.trial(attempt)
            writer.append(Planned(unit=unit, configuration=each.id, arm=each.arm, attempt=attempt, trial=name))
        for each, attempt in planned:
            unit, name = each.unit(attempt), each.trial(attempt)
            writer.append(Started(unit=unit, trial=name, how="fresh", worker="w1"))
            writer.append(Ended(unit=unit, trial=name, status="finished", cause="submitted", cost_usd=0.0))
    for each, attempt in planned:
        copy = batch / each.trial(attempt)
        copy.mkdir()
        for name in (EVENTS, SUMMARY):
            shutil.copy2(trial / name, copy / name)


def _configuration(first: TrialStarted, number: int) -> Configuration:
    task = first.task.model_copy(update={"id": f"made/task-{number}", "digest": str(number)})
    first = first.model_copy(update={"task": task})
    return Configuration(id=Configuration.id_of(first), arm="base", stem=stem_of(first), first=first)


def _read(batch: Path) -> None:
    finished = sum(result.state == "finished" for result in results_of(read_batch(batch).units))
    assert finished == UNITS, finished


def _scan(batch: Path) -> None:
    """Make a row of each trial file, and nothing else."""
    rows = []
    with os.scandir(batch) as entries:
        for entry in entries:
            if entry.is_dir():
                with open(os.path.join(entry.path, SUMMARY), "rb") as file:
                    rows.append(json.loads(file.read()))
    assert sum(row["exit"] is not None for row in rows) == UNITS
