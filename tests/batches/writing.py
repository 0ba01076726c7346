"""Write the files of a batch without running it: a grid, a journal, and the records of its trials."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.record.test_recorder import started
from trajectories.batches.configuration import Configuration
from trajectories.batches.events import BatchOpened, Holder, Planned
from trajectories.batches.grid import append_to_grid
from trajectories.batches.journal import BatchWriter
from trajectories.record.events import TaskRef
from trajectories.writing.claim import stem_of


def opened(**fields: Any) -> BatchOpened:
    holder = Holder(host="node", pid=7)
    return BatchOpened(**{
        "coordinator": holder, "spec": {"tasks": ["x"]}, "engine": "local",
        "workers": 2, "evaluations": 1, "reruns": 2, **fields,
    })  # fmt: skip


def configuration(task: str = "x", arm: str = "base", **fields: Any) -> Configuration:
    """Return a configuration of a task; `fields` are those of event 0."""
    ref = TaskRef(id=f"demo/{task}", benchmark="demo", digest=task)
    first = started().model_copy(update={"trial": "", "identity": "", "task": ref, "mode": "base", **fields})
    return Configuration(id=Configuration.id_of(first), arm=arm, stem=stem_of(first), first=first)


def planned(configuration: Configuration, attempt: int = 1) -> Planned:
    return Planned(
        unit=configuration.unit(attempt),
        configuration=configuration.id,
        arm=configuration.arm,
        attempt=attempt,
        trial=configuration.trial(attempt),
    )


def write_batch(directory: Path, *configurations: Configuration, attempts: int = 1) -> Path:
    """Write a batch of which nothing has been started."""
    directory.mkdir(parents=True)
    append_to_grid(directory, configurations)
    with BatchWriter(directory) as writer:
        writer.append(opened())
        for each in configurations:
            for attempt in range(1, attempts + 1):
                writer.append(planned(each, attempt))
    return directory
