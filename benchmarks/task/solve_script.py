"""A task's own solution in the form of a script, as the field's task directories have it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from benchmarks.task import taskdir, tree
from benchmarks.task.tree import Tree


@dataclass(frozen=True)
class SolveScript:
    """A script that solves a task. Only `--model oracle` runs it, by commands of the ordinary loop."""

    source: Path
    """Directory or file with the solution; no image, workspace or suite contains it."""
    script: str
    """Bash that solves the task in the working directory. Its exit status is ignored, as the field's harnesses do."""
    directory: str | None = None
    """Absolute path of the directory in the environment that gets the source first; None if the script needs none."""
    env: Mapping[str, str] = field(default_factory=dict)
    left_out: frozenset[bytes] = frozenset()
    """Paths in the source that do not come along."""

    def files(self) -> Tree:
        """Return the files of the solution.

        Raises: TaskError.
        """
        if self.source.is_file():
            return tree.of_file(self.source)
        files = tree.scan(self.source, taskdir.CACHES)
        return replace(files, entries=tuple(entry for entry in files.entries if entry.path not in self.left_out))
