"""Reruns of a trial in its batch: the last one whose record has begun counts in its place."""

from __future__ import annotations

from pathlib import Path

from trajectories.errors import RecordError
from trajectories.reading.reader import has_begun
from trajectories.record.layout import name_of_rerun, rerun_in


def replacement_of(trial: Path) -> Path | None:
    """Return the trial that counts in place of this one; None if this one has not been replaced."""
    directory = trial.absolute()
    first, number = rerun_in(directory.name) or (directory.name, 0)
    last: Path | None = None
    while (rerun := trial.parent / name_of_rerun(first, number := number + 1)).is_dir():
        try:
            last = rerun if has_begun(rerun) else last
        except (RecordError, OSError):
            last = rerun  # a record that cannot be read is there
    return last
