"""`.harborignore`: files of `tests/` that no container gets. Such a file also counts for the directories below it."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path, PurePosixPath

from pathspec import GitIgnoreSpec

from benchmarks.task.task import TaskError
from benchmarks.task.tree import Entry
from benchmarks.task.yaml_file import text_of

NAME = ".harborignore"


def kept(entries: tuple[Entry, ...], folder: Path, top: Path) -> tuple[Entry, ...]:
    """Return the entries of `folder` that no ignore file leaves out: that of the task's directory `top`, or one deeper.

    Raises: TaskError if one cannot be read.
    """
    specs = {PurePosixPath(): _spec(top / NAME)} if (top / NAME).is_file() else {}
    below = PurePosixPath(folder.relative_to(top).as_posix())
    for entry in entries:
        path = below / os.fsdecode(entry.path)
        if path.name == NAME and entry.type == "file":
            specs[path.parent] = _spec(top / path)
    if not specs:
        return entries
    return tuple(entry for entry in entries if not _is_ignored(below / os.fsdecode(entry.path), entry, specs))


def _spec(path: Path) -> GitIgnoreSpec:
    try:
        return GitIgnoreSpec.from_lines(text_of(path).splitlines())
    except ValueError as error:
        raise TaskError(f"{path}: has a pattern that cannot be used: {error}") from None


def _is_ignored(path: PurePosixPath, entry: Entry, specs: Mapping[PurePosixPath, GitIgnoreSpec]) -> bool:
    """Return the decision of the deepest ignore file that has one."""
    ignored = False
    for directory, spec in sorted(specs.items(), key=lambda pair: len(pair[0].parts)):
        if not path.is_relative_to(directory) or path == directory:
            continue
        name = str(path.relative_to(directory)) + ("/" if entry.type == "directory" else "")
        decision = spec.check_file(name).include
        ignored = ignored if decision is None else decision
    return ignored
