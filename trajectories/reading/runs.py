"""Finds trials under a runs directory, and one trial by what a user calls it.

A trial is a directory with an `events.jsonl`; runs hold batches, batches hold trials.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from pydantic import ValidationError

from trajectories.errors import RecordError
from trajectories.reading.reader import read_events
from trajectories.reading.summary import StoredSummary, Summary, summarize
from trajectories.record.layout import EVENTS, TrialFolder


@dataclass(frozen=True)
class Listed:
    """A trial in a list; `problem` says why there is no summary."""

    directory: Path
    summary: Summary | None
    problem: str = ""


def trial_directories(runs: Path) -> list[Path]:
    """Every trial below `runs`, newest first (by the last write to its events)."""
    found: list[tuple[float, Path]] = []
    for batch in _folders(runs):
        for trial in _folders(batch):
            try:
                found.append((os.stat(trial / EVENTS).st_mtime, trial))
            except OSError:
                continue
    return [path for _, path in sorted(found, key=lambda item: (-item[0], str(item[1])))]


def listed(directory: Path) -> Listed:
    """A trial's summary, from `trial.json` if that is newer than the events and of all of them, else from the events.

    A `trial.json` without the number of bytes that it was made of is an older version's, and is not believed.
    """
    folder = TrialFolder(directory)
    try:
        events = folder.events.stat()
        if folder.summary.stat().st_mtime_ns >= events.st_mtime_ns:
            stored = StoredSummary.model_validate_json(folder.summary.read_bytes())
            if stored.events_bytes == events.st_size:
                return Listed(directory, Summary(**dict(stored)))
    except (OSError, ValidationError):
        pass
    try:
        return Listed(directory, summarize(directory, read_events(directory)))
    except (RecordError, OSError) as error:
        return Listed(directory, None, str(error))


def batch_folder(runs: Path, name: str) -> Path:
    """The folder of a batch under `runs`.

    Raises: RecordError for a name that is no single visible folder there.
    """
    if not name or name.startswith(".") or "/" in name or "\0" in name:
        raise RecordError(f"{name!r} is no name for a batch: use one that is a folder's, without / and no dot in front")
    return runs / name


def find_trial(name: str, runs: Path) -> Path:
    """The trial that is this directory, or whose id begins with this text.

    Raises: RecordError if none or several are meant.
    """
    path = Path(name)
    if TrialFolder(path).is_trial():
        return path
    if path.name == EVENTS and path.is_file():
        return path.parent
    matches = [trial for trial in trial_directories(runs) if trial.name.startswith(name)]
    exact = [trial for trial in matches if trial.name == name]
    if len(exact) == 1 or len(matches) == 1:
        return (exact or matches)[0]
    if not matches:
        raise RecordError(
            f"no trial {name!r}: neither a trial's directory nor the beginning of a trial's id under {runs}"
        )
    some = ", ".join(trial.name for trial in matches[:5]) + (", ..." if len(matches) > 5 else "")
    raise RecordError(f"{name!r} may be {len(matches)} trials: {some}; write more of its id, or its directory")


def directories_named(names: Iterable[str], runs: Path) -> tuple[list[Path], set[Path]]:
    """The trials that are meant: each a trial, or a batch's directory for all of its trials; and those of batches.

    Raises: RecordError if a name is neither.
    """
    found: list[Path] = []
    of_batches: set[Path] = set()
    for name in names:
        path = next((place for place in (Path(name), runs / name) if place.is_dir()), Path(name))
        if path.is_dir() and not TrialFolder(path).is_trial():
            batch = sorted(entry.parent for entry in path.glob(f"*/{EVENTS}"))
            if not batch:
                raise RecordError(f"{name}: neither a trial nor a batch of trials (no {EVENTS} in it or right below)")
            of_batches |= set(batch)
            found += batch
        else:
            found.append(find_trial(name, runs))
    return list(dict.fromkeys(found)), of_batches


def _folders(parent: Path) -> list[Path]:
    try:
        return [Path(entry.path) for entry in os.scandir(parent) if entry.is_dir() and not entry.name.startswith(".")]
    except OSError:
        return []
