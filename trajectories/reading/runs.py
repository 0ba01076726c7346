"""Finds the trials below a runs directory: all of them, one by the beginning of its id, or those that a pattern fits.

A trial is a directory with an `events.jsonl`, packed or not. A runs directory holds batches, and a batch holds trials.
"""

from __future__ import annotations

import difflib
import os
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Protocol, Self, TypeVar

from pydantic import ValidationError

from trajectories.errors import RecordError
from trajectories.plain_files import read_plain_with_facts
from trajectories.reading.packed import RecordState, last_write_s, record_state
from trajectories.reading.reader import read_events
from trajectories.reading.summary import StoredSummary, Summary, missing_fields, names_a_hint_wrongly, summarize
from trajectories.record.layout import EVENTS, PACKED, PLANS, SUMMARY, BatchFolder, TrialFolder
from trajectories.record.texts.text import quantity

_PATTERN = re.compile(r"[*?\[]")
"""A character that makes a pattern of a name."""


@dataclass(frozen=True)
class Listed:
    """A trial in a list."""

    directory: Path
    summary: Summary | None
    problem: str = ""
    """Reason for which there is no summary."""


def trial_directories(runs: Path) -> list[Path]:
    """Return all trials below `runs`, newest first by the last write to their events."""
    return newest_first(trial for batch in _folders(runs) for trial in _folders(batch))


def newest_first(directories: Iterable[Path]) -> list[Path]:
    """Return the directories that are trials, newest first by the last write to their events.

    Records of plans are not trials.
    """
    trials: list[tuple[float, Path]] = []
    for directory in directories:
        if directory.parent.name == PLANS and TrialFolder(directory).is_role_record():
            continue
        try:
            trials.append((last_write_s(directory), directory))
        except OSError:
            continue
    return [path for _, path in sorted(trials, key=lambda item: (-item[0], str(item[1])))]


def listed(directory: Path) -> Listed:
    """Return a trial with its summary, from `trial.json` if that fits to the events, otherwise from the events.

    A `trial.json` of an older version does not tell all that is asked for, and is not used. The directory is where the
    trial is now: it may have been copied since.
    """
    stored = stored_summary(directory, StoredSummary)
    if stored is not None and not any(missing_fields(stored)) and not names_a_hint_wrongly(stored):
        return Listed(directory, Summary(**{**dict(stored), "trial": str(directory)}))
    try:
        return Listed(directory, summarize(directory, read_events(directory)))
    except (RecordError, OSError) as error:
        return Listed(directory, None, str(error))


class SizedSummary(Protocol):
    """A model of `trial.json`, or of a part of it, with the size of the record that it was made of."""

    @property
    def events_bytes(self) -> int:
        """Size of the events, unpacked."""

    @classmethod
    def model_validate_json(cls, data: bytes) -> Self:
        """Return the content of the file. Raises: ValidationError."""


S = TypeVar("S", bound=SizedSummary)


def stored_summary(directory: Path | str, model: type[S]) -> S | None:
    """Return what `trial.json` holds if it fits to the events: not older, and made of all of them. Otherwise None.

    The file is taken as it is only if the model finds all its fields.
    """
    try:
        data, facts = read_plain_with_facts(f"{directory}/{SUMMARY}")
        events = _state_of_record(directory)
        if facts.st_mtime_ns >= events.mtime_ns:
            stored = model.model_validate_json(data)
            return stored if stored.events_bytes == events.size else None
    except (RecordError, OSError, ValidationError):
        pass
    return None


def _state_of_record(directory: Path | str) -> RecordState:
    try:
        facts = os.stat(f"{directory}/{EVENTS}")
    except FileNotFoundError:
        return record_state(TrialFolder(Path(directory)).record)
    return RecordState(facts.st_mtime_ns, facts.st_size)


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

    Raises: RecordError for a name that is not the name of a visible folder, or is that of the plans.
    """
    if not name or name.startswith(".") or "/" in name or "\0" in name:
        raise RecordError(
            f"{name!r} cannot name a batch: use the name of a folder, without / and without a leading dot"
        )
    if name == PLANS:
        raise RecordError(f"{name!r} cannot name a batch: agent plan keeps its plans in {runs / name}")
    return runs / name


def find_trial(name: str, runs: Path) -> Path:
    """Return the trial that is this directory, or whose id begins with this text.

    Raises: RecordError if there is no such trial, or several.
    """
    path = Path(name)
    if TrialFolder(path).is_trial():
        return path if path.name not in ("", "..") else path.resolve()  # commands use its name and its batch
    if path.name in (EVENTS, PACKED) and path.is_file():
        path = path.parent
        if TrialFolder(path).is_trial():
            return path
    for folder in (path, runs / name):
        if name and TrialFolder(folder).is_role_record():
            raise RecordError(f"{name!r} is the record of a plan, not a trial; agent show prints it")
    trials = trial_directories(runs)
    matches = [trial for trial in trials if name and trial.name.startswith(name)]
    exact = [trial for trial in matches if trial.name == name]
    if len(exact) == 1 or len(matches) == 1:
        return (exact or matches)[0]
    if not matches:
        raise RecordError(_no_trial(name, runs, trials))
    some = ", ".join(trial.name for trial in matches[:5]) + (", ..." if len(matches) > 5 else "")
    raise RecordError(f"{name!r} fits {len(matches)} trials: {some}; write more of the id, or the directory")


def _no_trial(name: str, runs: Path, trials: Sequence[Path]) -> str:
    """Return the reason why a name is not that of a trial, with the way out."""
    if not name:
        return "the name of the trial is empty; `agent trials` lists them all"
    for folder in (Path(name), runs / name):
        if inside := newest_first(_folders(folder)):
            count = quantity(len(inside), "trial")
            return f"{name!r} is a folder of {count}, not a trial: name one, for instance {inside[0].name}"
    if not runs.is_dir():
        return f"no trial {name!r}: there is no directory {runs} here; name that of your trials with --runs"
    if name.startswith(f"{PLANS}/"):
        return f"no plan {name!r}: {runs / PLANS} holds no record whose name begins with that; agent plan makes one"
    ids = [trial.name for trial in trials]
    near = difflib.get_close_matches(name, {*ids, *(id.partition(".")[0] for id in ids)}, 1)
    hint = f"did you mean {near[0]}?" if near else "`agent trials` lists them all"
    return (
        f"no trial {name!r}: not a trial's directory, and no trial below {runs} has an id that begins with it; {hint}"
    )


def directories_named(names: Sequence[str], runs: Path) -> tuple[list[Path], set[Path]]:
    """Return the trials that are named, and those of them that were named together with others.

    A name is a trial, a batch, a directory of batches, or a pattern (`*`, `?`, `[...]`) for ids of trials, names of
    batches or `BATCH/ID`. No name at all stands for all trials below `runs`.

    Raises: RecordError if a name is none of them, or there is no trial.
    """
    trials: list[Path] = [] if names else sorted(trial_directories(runs))
    together = set(trials)
    for name in names:
        path = next((folder for folder in (Path(name), runs / name) if folder.is_dir()), Path(name))
        if path.is_dir() and not TrialFolder(path).is_trial() and not TrialFolder(path).is_role_record():
            several = sorted(entry for entry in path.glob("*") if TrialFolder(entry).is_trial())
            several = several or sorted(trial_directories(path))
            if not several and BatchFolder(path).is_batch():
                raise RecordError(f"{name}: no trial of this batch has begun; agent batch status shows its units")
            if not several:
                raise RecordError(
                    f"{name}: neither a trial nor a batch (no {EVENTS} in it, in its folders or in theirs)"
                )
        elif not path.exists() and _PATTERN.search(name):
            several = _matching(name, runs)
        else:
            trials.append(find_trial(name, runs))
            continue
        together |= set(several)
        trials += several
    if not trials:
        raise RecordError(f"no trials under {runs}; name the directory of your trials with --runs")
    return list(dict.fromkeys(trials)), together


def _matching(pattern: str, runs: Path) -> list[Path]:
    """Return the trials whose id, batch or `BATCH/ID` the pattern fits.

    Raises: RecordError if there is none, with the batches that there are.
    """
    plain = pattern.removeprefix(f"{runs}/").rstrip("/")
    trials = sorted(trial_directories(runs))
    matches = [
        trial
        for trial in trials
        if any(
            fnmatchcase(text, plain) for text in (trial.name, trial.parent.name, f"{trial.parent.name}/{trial.name}")
        )
    ]
    if matches:
        return matches
    batches = Counter(trial.parent.name for trial in trials)
    there = ", ".join(f"{batch} ({count})" for batch, count in batches.most_common(8)) + ", ..." * (len(batches) > 8)
    raise RecordError(
        f"{pattern!r} matches no trial and no batch below {runs}; the batches, with their numbers of trials: "
        f"{there or 'none'}"
    )


def _folders(parent: Path) -> list[Path]:
    try:
        return [Path(entry.path) for entry in os.scandir(parent) if entry.is_dir() and not entry.name.startswith(".")]
    except OSError:
        return []
