"""A dataset: a folder of task directories that the user has given a name. Its tasks may be of several formats.

A task with mistakes is named beside the list of the others. The rows of a list are kept in the user's cache: a row is
read again when the size or the time of one of its files changes.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import cast

from benchmarks.task import formats
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

        Raises: TaskError if the folder is missing or cannot be read.
        """
        try:
            with os.scandir(self.root) as entries:
                return sorted(entry.name for entry in entries if _holds_task(entry))
        except OSError as error:
            raise TaskError(f"{self._missing(error)}") from None

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
        adapter = self._adapter(id)
        return adapter, adapter.load(id, settings)

    def rows(self) -> DatasetRows:
        """Return the rows of all tasks, from the cache where their files have not changed.

        Raises: TaskError if the folder is missing or cannot be read.
        """
        cache = f"tasks-{hashlib.sha256(os.fsencode(self.root.absolute())).hexdigest()[:16]}.json"
        cached, entries, broken = read_cache(cache), dict[str, object](), list[str]()
        for id in self.ids():
            key = self._state(id)
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

    def _row(self, id: str) -> Row:
        return self._adapter(id).row(id)

    def _adapter(self, id: str) -> DirectoryBenchmark:
        task_format = formats.format_of(self.root / id) if "/" not in id and id not in ("", ".", "..") else None
        if task_format is None:
            self.ids()
            raise TaskError(f"{self.name}/{id}: the dataset in {self.root} has no such task")
        return formats.adapter(task_format, self.name, self.root)

    def _state(self, id: str) -> list[object]:
        """Return what a row depends on: its version, and size and time of the task's files."""
        state: list[object] = [_ROWS]
        for name in _ROW_FILES:
            try:
                status = os.stat(f"{self.root}/{id}/{name}")
            except OSError:
                state.append(None)
            else:
                state.append([status.st_size, status.st_mtime_ns])
        return state

    def _missing(self, error: OSError) -> str:
        return (
            f"dataset {self.name}: {self.root}: {error.strerror}; register its new place with agent tasks add DIR "
            f"--name {self.name}, or forget it with agent tasks remove {self.name}"
        )


def task_folders_below(folder: Path) -> Iterator[Path]:
    """Yield the folders directly below this one that hold task directories."""
    for below in sorted(folder.iterdir()):
        if below.is_dir() and Dataset("", below).ids():
            yield below


def _holds_task(entry: os.DirEntry[str]) -> bool:
    return any(os.path.isfile(f"{entry.path}/{name}") for name in formats.TASK_FILES)
