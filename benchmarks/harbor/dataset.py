"""The tasks of a dataset: the directories with a `task.toml` in a folder, at any depth."""

from __future__ import annotations

import os
from collections import Counter
from pathlib import Path

from benchmarks.harbor.reading.task_directory import FILE
from benchmarks.task.task import TaskError

_DEPTH = 5


def directories(root: Path) -> dict[str, Path]:
    """Return the task directories of a dataset by the names of their tasks.

    Raises: TaskError if a folder cannot be listed.
    """
    places = _below(root, _DEPTH)
    count = Counter(place.name for place in places)
    return {
        place.name if count[place.name] == 1 else "__".join(place.relative_to(root).parts): place for place in places
    }


def _below(folder: Path, depth: int) -> list[Path]:
    """Return the task directories below a folder; a task has none inside, and hidden folders count as none."""
    try:
        with os.scandir(folder) as entries:
            folders = [Path(entry.path) for entry in entries if entry.is_dir() and not entry.name.startswith(".")]
    except OSError as error:
        raise TaskError(f"{folder}: cannot be read: {error.strerror}") from None
    places = []
    for path in folders:
        if (path / FILE).is_file():
            places.append(path)
        elif depth > 1:
            places += _below(path, depth - 1)
    return places
