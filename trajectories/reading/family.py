"""Which trials were forked from which, found in the first lines of the records of one runs directory."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from trajectories.reading.runs import trial_directories
from trajectories.record.layout import EVENTS
from trajectories.record.parts import Parent

_FIRST_LINE_BYTES = 1 << 20


@dataclass
class Member:
    """A trial and those forked from it; `directory` is None where only its name is known."""

    name: str
    directory: Path | None
    step: int | None = None
    """Of its parent, after which it branched off."""
    children: list[Member] = field(default_factory=list)


def family(trial: Path) -> tuple[Member, Member]:
    """The oldest known ancestor with all its descendants, and this trial among them.

    Only first lines are read; a record whose first line cannot be read belongs to no family.
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
        found = _nearest(by_name.get(name, ()), directory)
        mother = members[found] if found is not None else unknown.setdefault(name, Member(name, None))
        mother.children.append(members[directory])
        above[directory] = mother
    return _root(members[trial], above), members[trial]


def directory_of_parent(trial: Path, parent: Parent) -> Path | None:
    """The directory of a trial's parent, in its batch or in another one beside it; None if it is not there."""
    name = os.path.basename(parent.trial.rstrip("/"))
    if name in ("", ".", "..") or "\0" in name or len(os.fsencode(name)) > 255:
        return None
    batch = trial.absolute().parent
    try:
        batches = [batch, *(Path(entry.path) for entry in os.scandir(batch.parent) if entry.is_dir())]
    except OSError:
        batches = [batch]
    return next((place / name for place in batches if (place / name / EVENTS).is_file()), None)


def _root(member: Member, above: dict[Path, Member]) -> Member:
    seen = {id(member)}
    while member.directory is not None and member.directory in above:
        member = above[member.directory]
        if id(member) in seen:  # records that name each other
            return member
        seen.add(id(member))
    return member


def _nearest(candidates: Iterable[Path], child: Path) -> Path | None:
    """Of trials with the parent's name, the one in the child's batch, else any."""
    there = [path for path in candidates if path != child]
    return next((path for path in there if path.parent == child.parent), there[0] if there else None)


def _parent(directory: Path) -> tuple[str, int] | None:
    try:
        with (directory / EVENTS).open("rb") as file:
            line = file.readline(_FIRST_LINE_BYTES)
        if b'"parent":{' not in line:
            return None
        parent = json.loads(line)["parent"]
        return str(parent["trial"]), int(parent["step"])
    except (OSError, ValueError, TypeError, KeyError, RecursionError):
        return None
