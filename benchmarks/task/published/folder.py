"""A benchmark that is a folder of published task directories: its part that is the same in each format."""

from __future__ import annotations

import shlex
from abc import ABC, abstractmethod
from collections.abc import Iterable
from pathlib import Path
from typing import ClassVar

from benchmarks.task.task import Named, Row, Task, TaskError, no_variants
from environments.protocol import Environment

STEP_S = 60.0
"""Seconds that one step of preparing a container may take."""


class TaskFolder(ABC):
    """A folder `root` of task directories in a published format, as the benchmark `name`."""

    columns: tuple[str, ...] = ("id", "title", "kind", "difficulty")

    def __init__(self, name: str, root: Path) -> None:
        self.name = name
        self.root = root

    file: ClassVar[str]
    """File that makes a directory a task of this format."""

    @abstractmethod
    def row(self, id: str) -> Row:
        """Return the task's line in a list.

        Raises: TaskError.
        """

    def ids(self) -> Iterable[str]:
        """Return the names of the tasks, sorted."""
        return sorted(path.parent.name for path in self.root.glob(f"*/{self.file}"))

    def rows(self) -> Iterable[Row]:
        """Return the tasks' lines in a list.

        Raises: TaskError.
        """
        return [self.row(id) for id in self.ids()]

    def directory(self, id: str) -> Path:
        """Return the directory of a task.

        Raises: TaskError if there is none.
        """
        if "/" in id or not (self.root / id / self.file).is_file():
            raise TaskError(f"{self.root / id / self.file}: is missing")
        return self.root / id

    def named(self, word: str) -> Named:
        """Return the task of that name, or those whose name contains the word."""
        ids = tuple(self.ids())
        return Named((word,)) if word in ids else Named(perhaps=tuple(id for id in ids if word.lower() in id.lower()))

    def vary(self, task: Task, variants: tuple[str, ...]) -> Task:
        """Return the task, which has no ablations. Raises: TaskError if any is requested."""
        return no_variants(task, variants)

    def place_solution(self, task: Task, environment: Environment) -> None:
        """Make the directory of the task's own solution if the agent's user cannot: the oracle works as that user.

        Raises: EnvironmentLost.
        """
        directory = task.solve.directory if task.solve is not None else None
        if directory is None or environment.execute("test -w /", deadline_s=STEP_S, cwd="/").exit_code == 0:
            return
        place = shlex.quote(directory)
        environment.execute(f"mkdir -p {place} && chmod 777 {place}", deadline_s=STEP_S, cwd="/", as_root=True)

    def lacking(self, task: Task, environment: Environment) -> tuple[str, ...]:
        """Return nothing: test scripts install what they need, each in its own way."""
        return ()
