"""Benchmarks by name, and what a user means by TASK.

A benchmark's module is imported when one of its tasks is asked for; a name is looked up with
`named()`, which is cheap, before anything is loaded.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path

from benchmarks.task.task import TASK_FILE, Benchmark, Row, Task, TaskError

_LISTED = {"demo": "benchmarks.demos:DEMO", "programbench": "benchmarks.programbench.adapter:ProgramBench"}
"""Benchmarks whose tasks have names: module and attribute."""
_UNLISTED = {"adhoc": "benchmarks.task.adhoc:AdHoc"}
PATH = "path"
"""The benchmark of tasks that are named by the path of their directory."""
_CANDIDATES = 12
"""As many are named in an error."""
_SEARCHED = ("id", "title", "repository")
_EXACT = ("language", "language_name", "difficulty", "kind")


@dataclass(frozen=True)
class TaskList:
    """A benchmark's tasks: all their rows, and which columns a table of them has room for."""

    benchmark: str
    columns: tuple[str, ...]
    rows: tuple[Row, ...]


def names() -> tuple[str, ...]:
    """The benchmarks that have named tasks."""
    return tuple(_LISTED)


def benchmark(name: str) -> Benchmark:
    """The adapter of that name.

    Raises: TaskError, with near names.
    """
    target = _LISTED.get(name) or _UNLISTED.get(name)
    if target is None:
        raise TaskError(f"unknown benchmark {name!r}{_near(name, names())}")
    module, _, attribute = target.partition(":")
    found = getattr(import_module(module), attribute)
    adapter: Benchmark = found() if isinstance(found, type) else found
    return adapter


def resolve_task(reference: str) -> tuple[Benchmark, Task]:
    """What TASK means: `demo/ledger`, `ledger` where one benchmark has it, or a task directory's path.

    A name that means a task exactly comes first, then a task directory, then a name that only one task may have meant.

    Raises: TaskError (unknown, with near names; ambiguous, with all candidates; malformed).
    """
    if not reference or "\0" in reference:
        raise TaskError("the task's name is empty" if not reference else "the task's name holds a NUL")
    head, slash, rest = reference.partition("/")
    asked, word = ((head,), rest) if slash and head in _LISTED else (names(), reference)
    meant = {name: benchmark(name).named(word) for name in asked}
    exactly = [(name, id) for name, found in meant.items() for id in found.exactly]
    if exactly:
        return _only(exactly, f"{reference!r} is ambiguous")
    directory = Path(reference).expanduser()
    exists = _exists(directory)
    if exists and (directory.name == TASK_FILE or (directory / TASK_FILE).is_file()):
        return _at(directory)
    perhaps = [(name, id) for name, found in meant.items() for id in found.perhaps]
    if perhaps:
        return _only(perhaps, f"no task is named {reference!r}, and it may mean several")
    if exists:
        return _at(directory)
    wanted = reference.rpartition("/")[2]
    near = _near_tasks(wanted, asked) or _near_tasks(wanted, names())
    hint = f"; did you mean {' or '.join(near)}?" if near else "; see `agent tasks list`"
    shown = reference if len(reference) <= 80 else reference[:77] + "..."
    raise TaskError(f"unknown task {shown!r}{hint}")


def task_lists(benchmark_name: str | None = None, words: Iterable[str] = ()) -> list[TaskList]:
    """The named tasks that have all these words, each benchmark's or one's.

    A word is looked for in id, title and repository, and is compared with language, difficulty and kind as a whole.

    Raises: TaskError.
    """
    wanted = [word.lower() for word in words]
    found = []
    for name in names() if benchmark_name is None else (benchmark_name,):
        adapter = benchmark(name)
        rows = tuple(row for row in adapter.rows() if all(_has(row, word) for word in wanted))
        found.append(TaskList(name, adapter.columns, rows))
    return found


def task_rows(benchmark_name: str | None = None) -> list[Row]:
    """All named tasks, or one benchmark's, by benchmark and name.

    Raises: TaskError.
    """
    return [row for found in task_lists(benchmark_name) for row in found.rows]


def _has(row: Row, word: str) -> bool:
    return any(word in str(row.get(key, "")).lower() for key in _SEARCHED) or any(
        word == str(row.get(key, "")).lower() for key in _EXACT
    )


def _only(candidates: list[tuple[str, str]], several: str) -> tuple[Benchmark, Task]:
    if len(candidates) > 1:
        shown = ", ".join(f"{name}/{id}" for name, id in candidates[:_CANDIDATES])
        more = len(candidates) - _CANDIDATES
        raise TaskError(f"{several}: {shown}" + (f" and {more} more; see `agent tasks list`" if more > 0 else ""))
    name, id = candidates[0]
    adapter = benchmark(name)
    return adapter, adapter.load(id)


def _at(path: Path) -> tuple[Benchmark, Task]:
    from benchmarks.task.directory import TaskDirectories

    if path.name == TASK_FILE and path.is_file():
        path = path.parent
    if not (path / TASK_FILE).is_file():
        raise TaskError(f"{path}: is no task directory, it has no {TASK_FILE}")
    path = path.resolve()
    adapter: Benchmark = TaskDirectories(PATH, path.parent)
    return adapter, adapter.load(path.name)


def _exists(path: Path) -> bool:
    try:
        return path.exists()
    except OSError:  # a name that is too long for the file system
        return False


def _near_tasks(wanted: str, among: tuple[str, ...]) -> list[str]:
    """Tasks with an id like this, or with such a part of it: `owner__repository.commit` has three."""
    having: dict[str, list[str]] = {}
    for name in among:
        for id in benchmark(name).ids():
            for word in {id.lower(), *re.split(r"__|\.", id.lower())}:
                having.setdefault(word, []).append(f"{name}/{id}")
    for cutoff in (0.7, 0.6):  # of what is less near, only where nothing is nearer
        if close := difflib.get_close_matches(wanted.lower(), having, n=3, cutoff=cutoff):
            break
    return list(dict.fromkeys(id for word in close for id in having[word]))[:4]


def _near(name: str, known: tuple[str, ...]) -> str:
    near = difflib.get_close_matches(name, known, n=3)
    return f"; did you mean {' or '.join(near)}?" if near else f"; there is {', '.join(known)}"
