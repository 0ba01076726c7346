"""Reruns: trials of a batch that replace one that infrastructure ended."""

from __future__ import annotations

from pathlib import Path

from trajectories.reading.reader import after_first, read_events
from trajectories.record.layout import rerun_in


def rerun_of(directory: Path) -> int | None:
    """Return the number of the rerun that a trial is; None for a trial that replaces none.

    Only a folder with the name of a rerun is opened.

    Raises: RecordError if the record cannot be read.
    """
    if rerun_in(directory.name) is None:
        return None
    start, _ = after_first(directory, read_events(directory))
    return start.rerun
