"""Looks up the tasks that a spec names: ids, short names, patterns, tiers and directories beside the spec."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from agent.batch.spec.spec import Spec, TaskName
from agent.config import datasets
from benchmarks.task.registry import PATH, resolve_task, task_lists
from benchmarks.task.task import Benchmark, Task, TaskError
from trajectories.reading.selection import fits
from trajectories.yaml_mistakes import Mistake

TIER = "tier:"
_PATTERN = "*?["
_PATH_LIKE = (".", "/", "~")


@dataclass(frozen=True)
class TaskOrigin:
    """A task from whose beginning trials start, and the entry of the spec that named it first."""

    entry: TaskName
    benchmark: Benchmark
    task: Task

    @property
    def id(self) -> str:
        """Name of the task."""
        return self.task.id

    @property
    def last_part(self) -> str:
        """The part of its name after the last `/`, which stands for `{task}` in names of files."""
        return last_part(self.id)

    def __str__(self) -> str:
        return self.id


def last_part(task: str) -> str:
    """Return the part of a task's name after the last `/`."""
    return task.rpartition("/")[2]


def find_tasks(spec: Spec) -> tuple[list[TaskOrigin], list[Mistake]]:
    """Return the tasks of a spec in its order, each once, and the mistakes in their names.

    A task that two entries name is a mistake, unless one of them is a pattern or a tier.
    """
    lookup = _Lookup(spec.path.parent)
    tasks: dict[str, TaskOrigin] = {}
    mistakes: list[Mistake] = []
    for entry in spec.tasks:
        try:
            matches = lookup.named(entry.name)
        except TaskError as error:
            mistakes.append(Mistake(entry.place, str(error)))
            continue
        for benchmark, task in matches:
            key = str(task.directory) if task.benchmark == PATH else task.id
            before = tasks.setdefault(key, TaskOrigin(entry, benchmark, task))
            if before.entry is not entry and not _is_several(entry.name) and not _is_several(before.entry.name):
                reason = f"{entry.name} is {task.id}, which {before.entry.name} names already; leave one out"
                mistakes.append(Mistake(entry.place, reason))
    return list(tasks.values()), mistakes


def _is_several(name: str) -> bool:
    return name.startswith(TIER) or any(mark in name for mark in _PATTERN)


class _Lookup:
    """Looks up names for a spec in this folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def named(self, name: str) -> list[tuple[Benchmark, Task]]:
        """Return the tasks that an entry names.

        Raises: TaskError.
        """
        if name.startswith(_PATH_LIKE):
            return [self._resolve(str((self._folder / Path(name).expanduser()).absolute()))]
        if not _is_several(name):
            benchmark, task = self._resolve(name)
            if task.benchmark == PATH:
                raise TaskError(f"{name!r} is not the name of a task; for a directory beside the spec write ./{name}")
            return [(benchmark, task)]
        ids = list(self._in_tier(name.removeprefix(TIER)) if name.startswith(TIER) else self._fitting(name))
        if not ids:
            raise TaskError(f"{name!r} fits no task; see `agent tasks list`")
        return [self._resolve(id) for id in ids]

    def _resolve(self, name: str) -> tuple[Benchmark, Task]:
        return resolve_task(name, datasets=datasets())

    def _fitting(self, pattern: str) -> Iterable[str]:
        return (id for id, _ in self._rows if fits(pattern, id))

    def _in_tier(self, tier: str) -> Iterable[str]:
        tiers = sorted({difficulty for _, difficulty in self._rows if difficulty})
        if tier not in tiers:
            raise TaskError(f"'{TIER}{tier}' is not a tier of any task; tiers are {', '.join(tiers) or 'unknown'}")
        return (id for id, difficulty in self._rows if difficulty == tier)

    @cached_property
    def _rows(self) -> list[tuple[str, str]]:
        """The ids of all named tasks, each with its tier."""
        return [
            (str(row["id"]), str(row.get("difficulty") or "").lower())
            for tasks in task_lists(datasets=datasets())
            for row in tasks.rows
        ]
