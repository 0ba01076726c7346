"""The benchmarks by name, and the lookup of the task that a user's TASK means.

A benchmark's module is imported when one of its tasks is needed. Names are looked up with `named()`, which is cheap,
before anything is loaded.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path

from benchmarks.task import formats
from benchmarks.task.settings import UNCHANGED, TaskSettings
from benchmarks.task.task import Benchmark, Row, Task, TaskError
from trajectories.writing import excerpts

_LISTED = {"demo": "benchmarks.demos:DEMO", "programbench": "benchmarks.programbench.adapter:ProgramBench"}
"""Benchmarks whose tasks have names, each with its module and attribute."""
_UNLISTED = {"adhoc": "benchmarks.task.adhoc:AdHoc"}
"""Benchmarks whose tasks are not listed."""
PATH = "path"
"""Name of the benchmark of tasks that a user names by the path of their directory."""
_CANDIDATES = 12
"""Largest number of tasks that an error names."""
_SEARCHED = ("id", "title", "repository")
"""Keys of a row in which a word may be a part of the value."""
_EXACT = ("language", "language_name", "difficulty", "kind")
"""Keys of a row in which a word must be the whole value."""


@dataclass(frozen=True)
class TaskList:
    """A benchmark's tasks: their rows, and the columns that fit into a table."""

    benchmark: str
    columns: tuple[str, ...]
    rows: tuple[Row, ...]


def names() -> tuple[str, ...]:
    """Return the benchmarks that have named tasks."""
    return tuple(_LISTED)


def benchmark(name: str) -> Benchmark:
    """Return the adapter of that name.

    Raises: TaskError, with similar names.
    """
    target = _LISTED.get(name) or _UNLISTED.get(name)
    if target is None:
        raise TaskError(f"unknown benchmark {name!r}{_near(name, names())}")
    module, _, attribute = target.partition(":")
    value = getattr(import_module(module), attribute)
    adapter: Benchmark = value() if isinstance(value, type) else value
    return adapter


def resolve_task(reference: str, settings: TaskSettings = UNCHANGED) -> tuple[Benchmark, Task]:
    """Return the task that TASK means: `demo/ledger`, `ledger` if one benchmark has it, or a task directory's path.

    An exact name comes first, then a task directory, then a partial name that matches only one task.

    Raises: TaskError (unknown, with similar names; ambiguous, with all candidates; malformed).
    """
    if not reference or "\0" in reference:
        raise TaskError("the task's name is empty" if not reference else "the task's name contains a NUL character")
    head, slash, rest = reference.partition("/")
    searched, word = ((head,), rest) if slash and head in _LISTED else (names(), reference)
    matches = {name: benchmark(name).named(word) for name in searched}
    exactly = [(name, id) for name, tasks in matches.items() for id in tasks.exactly]
    if exactly:
        return _only(exactly, f"{reference!r} is ambiguous", settings)
    directory = Path(reference).expanduser()
    exists = _exists(directory)
    if exists and (directory.name in formats.TASK_FILES or formats.format_of(directory)):
        return _at(directory, settings)
    perhaps = [(name, id) for name, tasks in matches.items() for id in tasks.perhaps]
    if perhaps:
        return _only(perhaps, f"no task is named {reference!r}, but several contain it", settings)
    if exists:
        return _at(directory, settings)
    if reference.count("/") > 1 or reference.startswith((".", "/", "~")):
        raise TaskError(f"{directory}: no such directory of a task")
    wanted = reference.rpartition("/")[2]
    near = _near_tasks(wanted, searched) or _near_tasks(wanted, names())
    hint = f"; did you mean {' or '.join(near)}?" if near else "; see `agent tasks list`"
    shown = reference if len(reference) <= 80 else excerpts.beginning(reference, 77) + "..."
    raise TaskError(f"unknown task {shown!r}{hint}")


def task_lists(
    benchmark_name: str | None = None, words: Iterable[str] = (), *, tier: str | None = None
) -> list[TaskList]:
    """Return the named tasks that match all these words, of one benchmark or of each, in one tier of difficulty or all.

    A word matches as a part of id, title or repository, or as the whole language, difficulty or kind.

    Raises: TaskError.
    """
    wanted = [word.lower() for word in words]
    lists = []
    for name in names() if benchmark_name is None else (benchmark_name,):
        adapter = benchmark(name)
        in_tier = (row for row in adapter.rows() if tier is None or str(row.get("difficulty")).lower() == tier)
        rows = tuple(row for row in in_tier if all(_matches(row, word) for word in wanted))
        lists.append(TaskList(name, adapter.columns, rows))
    return lists


def task_rows(benchmark_name: str | None = None) -> list[Row]:
    """Return the rows of all named tasks, or of one benchmark's, by benchmark and name.

    Raises: TaskError.
    """
    return [row for tasks in task_lists(benchmark_name) for row in tasks.rows]


def _matches(row: Row, word: str) -> bool:
    return any(word in str(row.get(key, "")).lower() for key in _SEARCHED) or any(
        word == str(row.get(key, "")).lower() for key in _EXACT
    )


def _only(candidates: list[tuple[str, str]], problem: str, settings: TaskSettings) -> tuple[Benchmark, Task]:
    if len(candidates) > 1:
        shown = ", ".join(f"{name}/{id}" for name, id in candidates[:_CANDIDATES])
        more = len(candidates) - _CANDIDATES
        raise TaskError(f"{problem}: {shown}" + (f" and {more} more; see `agent tasks list`" if more > 0 else ""))
    name, id = candidates[0]
    adapter = benchmark(name)
    return adapter, adapter.load(id, settings)


def _at(path: Path, settings: TaskSettings) -> tuple[Benchmark, Task]:
    if path.name in formats.TASK_FILES and path.is_file():
        path = path.parent
    task_format = formats.format_of(path)
    if task_format is None:
        raise TaskError(f"{path}: is not a task directory, because it has no {' and no '.join(formats.TASK_FILES)}")
    path = path.resolve()
    adapter = formats.adapter(task_format, PATH, path.parent)
    return adapter, adapter.load(path.name, settings)


def _exists(path: Path) -> bool:
    try:
        return path.exists()
    except OSError:  # a name that is too long for the file system
        return False


def _near_tasks(wanted: str, among: tuple[str, ...]) -> list[str]:
    """Return tasks with an id, or a part of an id, like this; `owner__repository.commit` has three parts."""
    ids_by_word: dict[str, list[str]] = {}
    for name in among:
        for id in benchmark(name).ids():
            for word in {id.lower(), *re.split(r"__|\.", id.lower())}:
                ids_by_word.setdefault(word, []).append(f"{name}/{id}")
    for cutoff in (0.7, 0.6):  # less similar names only if there are no more similar ones
        if close := difflib.get_close_matches(wanted.lower(), ids_by_word, n=3, cutoff=cutoff):
            break
    return list(dict.fromkeys(id for word in close for id in ids_by_word[word]))[:4]


def _near(name: str, existing: tuple[str, ...]) -> str:
    near = difflib.get_close_matches(name, existing, n=3)
    return f"; did you mean {' or '.join(near)}?" if near else f"; the benchmarks are {', '.join(existing)}"
