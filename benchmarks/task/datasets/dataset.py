"""A dataset: a folder of task directories that the user has given a name. Its tasks may be of several formats.

A task with mistakes is named beside the list of the others. The rows of a list are kept in the user's cache: a row is
read again when the size or the time of one of its files changes.
"""

from __future__ import annotations

import hashlib
import os
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import cast

from benchmarks.task import formats
from benchmarks.task.datasets.places import REGISTRY, Places, places
from benchmarks.task.formats import DirectoryBenchmark
from benchmarks.task.settings import UNCHANGED, TaskSettings
from benchmarks.task.task import Benchmark, Named, Row, Task, TaskError
from trajectories.cache import read_cache, write_cache

COLUMNS = ("id", "title", "kind", "language", "difficulty", "environments")
_ROW_FILES = (*formats.TASK_FILES, "instruction.md", "INSTRUCTION.md")
"""Files of a task that its row is made of."""
_ROWS = 2
"""Version of the rows in the cache. Increase it when an adapter makes other rows of the same files."""


@dataclass(frozen=True)
class DatasetRows:
    """The rows of a dataset's tasks, and a line for each task that cannot be read."""

    rows: tuple[Row, ...]
    broken: tuple[str, ...]


class Dataset:
    """The task directories in the folder `root`, as a benchmark of that name."""

    def __init__(self, name: str, root: Path) -> None:
        self.name = name
        self.root = root

    def ids(self) -> list[str]:
        """Return the names of the task directories, sorted.

        Raises: TaskError if the folder is missing or cannot be read, or its registry does not fit.
        """
        return list(self._places.tasks)

    def named(self, word: str) -> Named:
        """Return the task of that name, or else those whose names contain it.

        Raises: TaskError if the folder is missing or cannot be read.
        """
        if not word or "/" in word:
            return Named()
        ids = self.ids()
        if word in ids:
            return Named(exactly=(word,))
        return Named(perhaps=tuple(id for id in ids if word.lower() in id.lower()))

    def load(self, id: str, settings: TaskSettings = UNCHANGED) -> tuple[Benchmark, Task]:
        """Return a task and its adapter.

        Raises: TaskError.
        """
        adapter, place = self._at(id)
        task = adapter.load(place.name, settings)
        return adapter, task if place.name == id else replace(task, id=f"{self.name}/{id}")

    def rows(self) -> DatasetRows:
        """Return the rows of all tasks, from the cache where their files have not changed.

        Raises: TaskError if the folder is missing or cannot be read.
        """
        cache = f"tasks-{hashlib.sha256(os.fsencode(self.root.absolute())).hexdigest()[:16]}.json"
        cached, entries, broken = read_cache(cache), dict[str, object](), list(self._places.absent)
        for id, place in self._places.tasks.items():
            key = _state(place)
            entry = cached.get(id)
            if isinstance(entry, dict) and entry.get("state") == key and isinstance(entry.get("row"), dict):
                entries[id] = entry
                continue
            try:
                entries[id] = {"state": key, "row": dict(self._row(id))}
            except TaskError as error:
                broken.append(str(error))
        if entries != cached:
            write_cache(cache, entries)
        rows = (cast("dict[str, Row]", entry)["row"] for entry in entries.values())
        return DatasetRows(
            tuple({**line, "id": f"{self.name}/{id}"} for id, line in zip(entries, rows, strict=True)), tuple(broken)
        )

    @cached_property
    def _places(self) -> Places:
        try:
            return places(self.name, self.root)
        except OSError as error:
            raise TaskError(self._missing(error)) from None

    def _row(self, id: str) -> Row:
        adapter, place = self._at(id)
        return adapter.row(place.name)

    def _at(self, id: str) -> tuple[DirectoryBenchmark, Path]:
        """Return a task's directory and its adapter. One that lies right in the folder is found without the others.

        Raises: TaskError.
        """
        place: Path | None = self.root / id
        direct = "/" not in id and id not in ("", ".", "..") and not (self.root / REGISTRY).exists()
        task_format = formats.format_of(self.root / id) if direct else None
        if task_format is None:
            place = self._places.tasks.get(id)
            task_format = formats.format_of(place) if place is not None else None
        if place is None or task_format is None:
            raise TaskError(f"{self.name}/{id}: the dataset in {self.root} has no such task")
        return formats.adapter(task_format, self.name, place.parent), place

    def _missing(self, error: OSError) -> str:
        return (
            f"dataset {self.name}: {self.root}: {error.strerror}; register its new place with agent tasks add DIR "
            f"--name {self.name}, or forget it with agent tasks remove {self.name}"
        )


def _state(place: Path) -> list[object]:
    """Return what a row depends on: its version, and size and time of the task's files."""
    state: list[object] = [_ROWS]
    for name in _ROW_FILES:
        try:
            status = os.stat(f"{place}/{name}")
        except OSError:
            state.append(None)
        else:
            state.append([status.st_size, status.st_mtime_ns])
    return state
