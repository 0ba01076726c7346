"""A benchmark that is a folder of published task directories: its part that is the same in each format."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from pathlib import Path

from benchmarks.task.task import Named, Task, no_variants
from environments.protocol import Environment


class TaskFolder(ABC):
    """A folder `root` of task directories in a published format, as the benchmark `name`."""

    columns: tuple[str, ...] = ("id", "title", "kind", "difficulty")

    def __init__(self, name: str, root: Path) -> None:
        self.name = name
        self.root = root

    @abstractmethod
    def ids(self) -> Iterable[str]:
        """Return the names of the tasks, sorted."""

    def named(self, word: str) -> Named:
        """Return the task of that name, or those whose name contains the word."""
        ids = tuple(self.ids())
        return Named((word,)) if word in ids else Named(perhaps=tuple(id for id in ids if word.lower() in id.lower()))

    def vary(self, task: Task, variants: tuple[str, ...]) -> Task:
        """Return the task, which has no ablations. Raises: TaskError if any is requested."""
        return no_variants(task, variants)

    def lacking(self, task: Task, environment: Environment) -> tuple[str, ...]:
        """Return nothing: test scripts install what they need, each in its own way."""
        return ()
