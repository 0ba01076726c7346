"""`.harborignore`: files that no container gets, in the directories of tests and of solutions.

Such a file counts for what lies below it; in another directory of the task, also at its top, it means nothing. What is
below a directory that is left out stays out. The files themselves are left out as well.
"""

from __future__ import annotations

import os
import re
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.task.task import TaskError
from benchmarks.task.tree import Entry
from benchmarks.task.yaml_file import text_of

if TYPE_CHECKING:
    from pathspec import GitIgnoreSpec

NAME = ".harborignore"
_SCOPE = re.compile(r"(steps/[^/]+/)?(tests|solution)(/.*)?")
"""Paths in a task whose ignore files count, and to which they apply."""


class Ignored:
    """The ignore files of the task in directory `top`."""

    def __init__(self, top: Path) -> None:
        self._top = top
        self._specs: dict[str, GitIgnoreSpec | None] = {}

    def kept(self, entries: tuple[Entry, ...], folder: str) -> tuple[Entry, ...]:
        """Return the entries of a folder of the task without those that are left out.

        Raises: TaskError if an ignore file cannot be read.
        """
        if not _SCOPE.fullmatch(folder):
            return entries
        return tuple(entry for entry in entries if not self.leaves_out(f"{folder}/{os.fsdecode(entry.path)}"))

    def leaves_out(self, name: str) -> bool:
        """Return True if a path of the task, or what a link there leads to, is left out.

        Raises: TaskError if an ignore file cannot be read.
        """
        if self._is_out(name):
            return True
        path = self._top / name
        if not path.is_symlink():
            return False
        target = Path(os.path.realpath(path))
        return target.is_relative_to(self._real_top) and self._is_out(target.relative_to(self._real_top).as_posix())

    @cached_property
    def _real_top(self) -> Path:
        return Path(os.path.realpath(self._top))

    def _is_out(self, name: str) -> bool:
        """Return True if the path, or a directory above it, is left out; the deepest file with a decision decides."""
        parts = name.split("/")
        if parts[-1] == NAME:
            return True
        for end in range(1, len(parts) + 1):
            path = "/".join(parts[:end])
            if not _SCOPE.fullmatch(path):
                continue
            is_directory = end < len(parts) or (self._top / path).is_dir()
            out = False
            for above in range(1, end):
                spec = self._spec("/".join(parts[:above]))
                if spec is not None:
                    decision = spec.check_file("/".join(parts[above:end]) + "/" * is_directory).include
                    out = out if decision is None else decision
            if out:
                return True
        return False

    def _spec(self, directory: str) -> GitIgnoreSpec | None:
        """Return the patterns in a directory of the task; None if it has none that count."""
        if directory not in self._specs:
            path = self._top / directory / NAME
            exists = _SCOPE.fullmatch(directory) and path.is_file()
            self._specs[directory] = _read(path) if exists else None
        return self._specs[directory]


def _read(path: Path) -> GitIgnoreSpec:
    from pathspec import GitIgnoreSpec

    try:
        return GitIgnoreSpec.from_lines(text_of(path).splitlines())
    except ValueError as error:
        raise TaskError(f"{path}: has a pattern that cannot be used: {error}") from None
