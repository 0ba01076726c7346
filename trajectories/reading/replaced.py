"""Reruns: trials of a batch that replace one that infrastructure ended."""

from __future__ import annotations

import re
from pathlib import Path

from trajectories.reading.reader import after_first, read_events

_NAME = re.compile(r"(?P<first>.+)\.r(?P<rerun>[1-9][0-9]{0,8})(?P<turn>\.t[1-9][0-9]{0,8})?", re.ASCII | re.DOTALL)
"""Name of a rerun, or of a later turn of one."""
_TURN = re.compile(r"\.t[1-9][0-9]{0,8}\Z", re.ASCII)


def unit_and_rerun(name: str) -> tuple[str, int]:
    """Return what a trial's name tells: the first trial of its unit, and the number of the rerun (0 for the first)."""
    if match := _NAME.fullmatch(name):
        return match["first"], int(match["rerun"])
    return _TURN.sub("", name), 0


def replaced_by(directory: Path) -> str | None:
    """Return the id of the trial that this one replaces; None if it replaces none.

    Only a folder with the name of a rerun is opened.

    Raises: RecordError if the record cannot be read.
    """
    if not unit_and_rerun(directory.name)[1]:
        return None
    start, _ = after_first(directory, read_events(directory))
    return start.replaces
