"""The task directories of a dataset, by the names of their tasks."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from benchmarks.task import formats

REGISTRY = "registry.json"
"""Harbor's list of datasets, at the top of a checkout."""
_DEPTH = 5
"""Levels of folders in which tasks are looked for."""


@dataclass(frozen=True)
class Places:
    """The task directories of a dataset by name, sorted, and a line for each task that should be there and is not."""

    tasks: Mapping[str, Path]
    absent: tuple[str, ...] = ()


def places(name: str, root: Path) -> Places:
    """Return the tasks that a `registry.json` in the folder lists under this name, otherwise all directories below.

    A directory's name is the task's, or its path with `__` in place of slashes if several have that name.

    Raises: OSError if the folder cannot be read, TaskError for a registry that does not fit.
    """
    if (root / REGISTRY).is_file():
        from benchmarks.task.datasets import harbor_registry

        entry = harbor_registry.entry(name, root / REGISTRY)
        if entry is not None:
            return Places(*harbor_registry.located(entry, root))
    below = list(_below(root, _DEPTH))
    count = Counter(place.name for place in below)
    tasks = {
        place.name if count[place.name] == 1 else "__".join(place.relative_to(root).parts): place for place in below
    }
    return Places(dict(sorted(tasks.items())))


def _below(folder: Path, depth: int) -> Iterator[Path]:
    """Yield the task directories below a folder. A task has none inside, and hidden folders are left out."""
    deeper = []
    with os.scandir(folder) as entries:
        for entry in entries:
            if any(os.path.isfile(f"{entry.path}/{file}") for file in formats.TASK_FILES):
                yield Path(entry.path)
            elif entry.is_dir(follow_symlinks=False) and not entry.name.startswith("."):
                deeper.append(Path(entry.path))
    if depth > 1:
        for path in deeper:
            try:
                yield from _below(path, depth - 1)
            except PermissionError:  # a folder that has nothing to do with the tasks
                continue
