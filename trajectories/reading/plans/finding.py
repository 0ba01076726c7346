"""Finds records of plans: by folder, by name, or by the text of the plan."""

from __future__ import annotations

import os
import re
from contextlib import suppress
from pathlib import Path

from trajectories.errors import RecordError
from trajectories.reading.plans.record import PlanRecord, read_plan
from trajectories.record.layout import EVENTS, PLAN, PLANS, TrialFolder


def plan_directories(runs: Path) -> list[Path]:
    """Return the folders of all records of plans below `runs`, by name and number."""
    try:
        with os.scandir(runs / PLANS) as inside:
            folders = [Path(entry.path) for entry in inside if entry.is_dir()]
    except OSError:
        return []
    return sorted((folder for folder in folders if TrialFolder(folder).is_role_record()), key=_natural)


def find_plan(name: str, runs: Path, *, by_beginning: bool = False) -> Path | None:
    """Return the record of a plan that is named: a folder or a file in it, a name, or `plans/` and its beginning.

    With `by_beginning` the beginning of its name is enough. Return None if there is no such record.

    Raises: RecordError if the beginning fits several.
    """
    if not name:
        return None
    path = Path(name)
    if path.name in (EVENTS, PLAN):
        path = path.parent
    for folder in (path, runs / path, runs / PLANS / path):
        if TrialFolder(folder).is_role_record():
            return folder
    head, _, beginning = name.rpartition("/")
    if not (by_beginning or head == PLANS) or head not in ("", PLANS) or not beginning:
        return None
    matches = [folder for folder in plan_directories(runs) if folder.name.startswith(beginning)]
    if len(matches) > 1:
        some = ", ".join(folder.name for folder in matches[:5]) + (", ..." if len(matches) > 5 else "")
        raise RecordError(f"{name!r} fits {len(matches)} records of plans: {some}; write more of the name")
    return matches[0] if matches else None


def records_of(text: str, runs: Path) -> list[PlanRecord]:
    """Return the records of plans with this text, the newest first. White space at its ends does not count.

    A record that cannot be read is left out.
    """
    records: list[PlanRecord] = []
    for directory in plan_directories(runs):
        with suppress(RecordError, OSError):
            record = read_plan(directory)
            if record.text is not None and record.text.strip() == text.strip():
                records.append(record)
    return sorted(records, key=lambda record: record.t, reverse=True)


def _natural(folder: Path) -> tuple[str, int]:
    match = re.fullmatch(r"(.*)\.([0-9]{1,9})", folder.name)
    return (match[1], int(match[2])) if match else (folder.name, 0)
