"""Finds the trials below a runs directory, and one trial by its directory or the beginning of its id.

A trial is a directory with an `events.jsonl`, packed or not. A runs directory holds batches, and a batch holds trials.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from pydantic import ValidationError

from trajectories.errors import RecordError
from trajectories.plain_files import read_plain
from trajectories.reading.packed import record_state
from trajectories.reading.reader import read_events
from trajectories.reading.summary import StoredSummary, Summary, lacks_the_panel, names_a_hint_wrongly, summarize
from trajectories.record.layout import EVENTS, PACKED, TrialFolder


@dataclass(frozen=True)
class Listed:
    """A trial in a list."""

    directory: Path
    summary: Summary | None
    problem: str = ""
    """Reason for which there is no summary."""


def trial_directories(runs: Path) -> list[Path]:
    """Return all trials below `runs`, newest first by the last write to their events."""
    trials: list[tuple[float, Path]] = []
    for batch in _folders(runs):
        for trial in _folders(batch):
            try:
                trials.append((TrialFolder(trial).record.stat().st_mtime, trial))
            except OSError:
                continue
    return [path for _, path in sorted(trials, key=lambda item: (-item[0], str(item[1])))]


def listed(directory: Path) -> Listed:
    """Return a trial with its summary, from `trial.json` if that fits to the events, otherwise from the events.

    It fits if it is not older than the events and was made of all of them. A `trial.json` of an older version does not
    tell the number of bytes that it was made of, and is not used. The directory is where the trial is now: it may have
    been copied since.
    """
    folder = TrialFolder(directory)
    try:
        events = record_state(folder.record)
        if folder.summary.stat().st_mtime_ns >= events.mtime_ns:
            stored = StoredSummary.model_validate_json(read_plain(folder.summary))
            is_outdated = lacks_the_panel(stored) or names_a_hint_wrongly(stored)
            if stored.events_bytes == events.size and not is_outdated:
                return Listed(directory, Summary(**{**dict(stored), "trial": str(directory)}))
    except (RecordError, OSError, ValidationError):
        pass
    try:
        return Listed(directory, summarize(directory, read_events(directory)))
    except (RecordError, OSError) as error:
        return Listed(directory, None, str(error))


def current_summary(directory: Path) -> Summary:
    """Return the summary of a trial, from `trial.json` if that fits to the events, otherwise from the events.

    Raises: RecordError if the record cannot be read.
    """
    row = listed(directory)
    if row.summary is None:
        raise RecordError(row.problem)
    return row.summary


def batch_folder(runs: Path, name: str) -> Path:
    """Return the folder of a batch below `runs`.

    Raises: RecordError for a name that is not the name of a visible folder.
    """
    if not name or name.startswith(".") or "/" in name or "\0" in name:
        raise RecordError(
            f"{name!r} cannot name a batch: use the name of a folder, without / and without a leading dot"
        )
    return runs / name


def find_trial(name: str, runs: Path) -> Path:
    """Return the trial that is this directory, or whose id begins with this text.

    Raises: RecordError if there is no such trial, or several.
    """
    path = Path(name)
    if TrialFolder(path).is_trial():
        return path
    if path.name in (EVENTS, PACKED) and path.is_file():
        return path.parent
    matches = [trial for trial in trial_directories(runs) if trial.name.startswith(name)]
    exact = [trial for trial in matches if trial.name == name]
    if len(exact) == 1 or len(matches) == 1:
        return (exact or matches)[0]
    if not matches:
        raise RecordError(
            f"no trial {name!r}: not the directory of a trial, and no trial below {runs} has an id that begins with it"
        )
    some = ", ".join(trial.name for trial in matches[:5]) + (", ..." if len(matches) > 5 else "")
    raise RecordError(f"{name!r} fits {len(matches)} trials: {some}; write more of the id, or the directory")


def directories_named(names: Iterable[str], runs: Path) -> tuple[list[Path], set[Path]]:
    """Return the trials that are named, each by itself or through its batch, and those that were named by a batch.

    Raises: RecordError if a name is neither a trial nor a batch.
    """
    trials: list[Path] = []
    of_batches: set[Path] = set()
    for name in names:
        path = next((folder for folder in (Path(name), runs / name) if folder.is_dir()), Path(name))
        if path.is_dir() and not TrialFolder(path).is_trial():
            batch = sorted(entry for entry in path.glob("*") if TrialFolder(entry).is_trial())
            if not batch:
                raise RecordError(f"{name}: neither a trial nor a batch (no {EVENTS} in it or in its folders)")
            of_batches |= set(batch)
            trials += batch
        else:
            trials.append(find_trial(name, runs))
    return list(dict.fromkeys(trials)), of_batches


def _folders(parent: Path) -> list[Path]:
    try:
        return [Path(entry.path) for entry in os.scandir(parent) if entry.is_dir() and not entry.name.startswith(".")]
    except OSError:
        return []
