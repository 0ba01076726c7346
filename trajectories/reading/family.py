"""The tree of forks: parents and children among the trials of one runs directory, from the first lines of records."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from trajectories.errors import RecordError
from trajectories.reading.packed import open_record
from trajectories.reading.reader import first_event
from trajectories.reading.runs import trial_directories
from trajectories.record.layout import TrialFolder, name_of_turn
from trajectories.record.parts import Parent

_FIRST_LINE_BYTES = 1 << 20


@dataclass
class Member:
    """A trial with the trials that were forked from it."""

    name: str
    directory: Path | None
    """Directory of the trial. None if only its name is known."""
    step: int | None = None
    """Step of the parent after which the fork begins."""
    children: list[Member] = field(default_factory=list)


def family(trial: Path) -> tuple[Member, Member]:
    """Return the oldest known ancestor with all its descendants, and this trial among them.

    Only first lines are read. A record whose first line cannot be read has no relatives.
    """
    trial = trial.absolute()
    members: dict[Path, Member] = {}
    parents: dict[Path, str] = {}
    for directory in {trial, *(path.absolute() for path in trial_directories(trial.parent.parent))}:
        members[directory] = Member(directory.name, directory)
        parent = _parent(directory)
        if parent is not None:
            parents[directory], members[directory].step = parent
    by_name: dict[str, list[Path]] = {}
    for directory in sorted(members):
        by_name.setdefault(directory.name, []).append(directory)
    above: dict[Path, Member] = {}
    unknown: dict[str, Member] = {}
    for directory in sorted(parents):
        name = parents[directory]
        nearest = _nearest(by_name.get(name, ()), directory)
        parent_member = members[nearest] if nearest is not None else unknown.setdefault(name, Member(name, None))
        parent_member.children.append(members[directory])
        above[directory] = parent_member
    return _root(members[trial], above), members[trial]


def ancestor_of(trial: Path) -> Path | None:
    """Return the trial whose work a trial begins with: the parent of a fork, or the turn before. None if unknown.

    Raises: RecordError.
    """
    start = first_event(trial)
    if start.parent is not None:
        return directory_of_parent(trial, start.parent)
    if start.chain is None or not start.inherits_work:
        return None
    before = trial.absolute().parent / name_of_turn(start.chain.first, (start.turn or 1) - 1)
    return before if TrialFolder(before).is_trial() else None


def directory_of_parent(trial: Path, parent: Parent) -> Path | None:
    """Return the directory of a trial's parent, in the same batch or in one beside it. None if it is in neither."""
    name = os.path.basename(parent.trial.rstrip("/"))
    if name in ("", ".", "..") or "\0" in name or len(os.fsencode(name)) > 255:
        return None
    batch = trial.absolute().parent
    try:
        batches = [batch, *(Path(entry.path) for entry in os.scandir(batch.parent) if entry.is_dir())]
    except OSError:
        batches = [batch]
    return next((folder / name for folder in batches if TrialFolder(folder / name).is_trial()), None)


def _root(member: Member, above: dict[Path, Member]) -> Member:
    seen = {id(member)}
    while member.directory is not None and member.directory in above:
        member = above[member.directory]
        if id(member) in seen:  # records that name each other
            return member
        seen.add(id(member))
    return member


def _nearest(candidates: Iterable[Path], child: Path) -> Path | None:
    """Return the trial with the parent's name in the child's batch, otherwise any with that name."""
    others = [path for path in candidates if path != child]
    return next((path for path in others if path.parent == child.parent), others[0] if others else None)


def _parent(directory: Path) -> tuple[str, int] | None:
    try:
        with open_record(TrialFolder(directory).record) as file:
            line = file.readline(_FIRST_LINE_BYTES)
        if b'"parent":{' not in line:
            return None
        parent = json.loads(line)["parent"]
        return str(parent["trial"]), int(parent["step"])
    except (RecordError, OSError, ValueError, TypeError, KeyError, RecursionError):
        return None
