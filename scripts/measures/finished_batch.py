"""A batch of many finished trials: a real one of one trial, whose record is copied under the names of the others."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path

from scripts.measures.trial import AGENT
from trajectories.batches.configuration import Configuration
from trajectories.record.layout import BatchFolder, TrialFolder

MakeSpec = Callable[[Path, int, int, int], Path]
"""Writes a spec into a folder, with so many attempts, workers and steps."""


def finished_batch(folder: Path, count: int, environment: Mapping[str, str], make_spec: MakeSpec) -> Path:
    """Make a batch of so many finished trials in `folder`/runs; return its spec.

    Its journal has the events of the first trial; the other units are planned when the batch is run again.
    """
    runs = folder / "runs"
    command = [*AGENT, "batch", str(make_spec(folder, 1, 1, 10)), "--runs", str(runs), "--quiet"]
    subprocess.run(command, env={**os.environ, **environment}, check=True, capture_output=True)
    spec = make_spec(folder, count, 4, 10)
    batch = BatchFolder(runs / spec.stem)
    configuration = Configuration.model_validate_json(batch.grid.read_text().splitlines()[0])
    original = batch.trial(configuration.trial(1))
    for attempt in range(2, count + 1):
        _copy(original, batch.trial(configuration.trial(attempt)), configuration, attempt)
    return spec


def _copy(original: TrialFolder, copy: TrialFolder, configuration: Configuration, attempt: int) -> None:
    shutil.copytree(original.path, copy.path, copy_function=os.link)
    first = configuration.first_event(attempt)
    changes = {"trial": first.trial, "attempt": attempt, "identity": first.identity}
    head, newline, rest = original.events.read_text().partition("\n")
    _replace(copy.events, json.dumps({**json.loads(head), **changes}, separators=(",", ":")) + newline + rest)
    summary = json.loads(original.summary.read_text().replace(original.path.name, copy.path.name))
    size = copy.events.stat().st_size
    _replace(copy.summary, json.dumps({**summary, **changes, "events_bytes": size}))


def _replace(link: Path, text: str) -> None:
    link.unlink()
    link.write_text(text)
