"""The formats of task directories: recognizing one by its files, and the adapter that reads it.

A format's adapter is a class that is made with the name of a benchmark and a folder of task directories, such as
`directory.TaskDirectories`. It is imported when a task of its format is needed.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Literal, Protocol

from benchmarks.task.task import TASK_FILE, Benchmark, Row, Task, TaskError

Format = Literal["retrace", "terminal-bench", "harbor"]

HARBOR_FILE = "task.toml"
"""File that makes a directory a task in Harbor's format."""
TASK_FILES = (TASK_FILE, HARBOR_FILE)
"""Files of which a task directory has one."""
_ADAPTERS: dict[Format, str] = {
    "retrace": "benchmarks.task.directory:TaskDirectories",
    "terminal-bench": "benchmarks.terminalbench.adapter:TerminalBench",
    "harbor": "benchmarks.harbor.adapter:Harbor",
}
"""Module and class for each format."""
_DEFECTS: dict[Format, str] = {"terminal-bench": "benchmarks.terminalbench.published:defects"}
"""Module and function that finds the defects of a task in its files alone, for each format that has one."""
_OWN_KEYS = frozenset(("title", "kind", "environments", "evaluation", "image"))
_TERMINAL_BENCH_KEYS = frozenset(
    ("instruction", "difficulty", "parser_name", "author_name", "author_email", "max_test_timeout_sec", "category")
)
_KEY = re.compile(rb"""^["']?([A-Za-z_]+)["']?[ \t]*:(?=\s|$)""", re.MULTILINE)
"""A key of the outermost mapping: it begins its line, which the text of a longer value cannot."""
_READ_BYTES = 256 << 10


class DirectoryBenchmark(Benchmark, Protocol):
    """The adapter of a folder of task directories."""

    def row(self, id: str) -> Row:
        """Return the line of a task in a list, without its digest and without a look at the content of its tests.

        Raises: TaskError.
        """


@dataclass(frozen=True)
class Defect:
    """Something that is wrong with the files of a published task, which can be read all the same."""

    check: str
    detail: str
    breaks: bool
    """True if no solution can get a full score, or the untouched start fails what it should pass."""


def format_of(directory: Path) -> Format | None:
    """Return the format of a task directory; None if it has neither a `task.yaml` nor a `task.toml`.

    Our own `task.yaml` and that of terminal-bench are told apart by their keys, also if the file has mistakes. If a
    directory has both files, `task.yaml` counts.
    """
    if (directory / TASK_FILE).is_file():
        return _format_of_yaml(directory)
    return "harbor" if (directory / HARBOR_FILE).is_file() else None


def of_task(task: Task) -> Format | None:
    """Return the format of a task's directory; None for a task without one, and for the files of ProgramBench."""
    return None if task.directory is None or task.benchmark == "programbench" else format_of(task.directory)


def defects(task_format: Format, directory: Path, overlay: Path | None = None) -> tuple[Defect, ...]:
    """Return the defects that the files of a task show, with those of an overlay in front.

    Raises: TaskError.
    """
    target = _DEFECTS.get(task_format)
    if target is None:
        return ()
    module, _, attribute = target.partition(":")
    of_format: tuple[Defect, ...] = getattr(import_module(module), attribute)(directory, overlay)
    return of_format


def adapter(task_format: Format, benchmark: str, root: Path) -> DirectoryBenchmark:
    """Return the adapter for the tasks of a format in `root`, under the name of a benchmark.

    Raises: TaskError for a format that this version does not read.
    """
    target = _ADAPTERS.get(task_format)
    if target is None:
        raise TaskError(f"{root}: tasks in the format {task_format} cannot be read by this version of Retrace")
    module, _, attribute = target.partition(":")
    made: DirectoryBenchmark = getattr(import_module(module), attribute)(benchmark, root)
    return made


def _format_of_yaml(directory: Path) -> Format:
    try:
        with (directory / TASK_FILE).open("rb") as file:
            keys = {match[1].decode() for match in _KEY.finditer(file.read(_READ_BYTES))}
    except OSError:  # the adapter names the reason
        return "retrace"
    theirs, ours = len(keys & _TERMINAL_BENCH_KEYS), len(keys & _OWN_KEYS)
    if theirs == ours:
        return "terminal-bench" if (directory / "run-tests.sh").is_file() else "retrace"
    return "terminal-bench" if theirs > ours else "retrace"
