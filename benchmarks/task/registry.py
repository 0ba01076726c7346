"""The benchmarks and datasets by name, and the lookup of the task that a user's TASK means.

A benchmark's module is imported when one of its tasks is needed. Names are looked up with `named()`, which is cheap,
before anything is loaded. `datasets` are the folders of task directories that the user has given names.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from types import MappingProxyType

from benchmarks.task import formats
from benchmarks.task.datasets.dataset import COLUMNS, Dataset
from benchmarks.task.settings import UNCHANGED, TaskSettings
from benchmarks.task.task import Benchmark, Named, Row, Task, TaskError

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


NO_DATASETS: Mapping[str, Path] = MappingProxyType({})


@dataclass(frozen=True)
class TaskList:
    """A benchmark's tasks: their rows, the columns that fit into a table, and a line for each that cannot be read."""

    benchmark: str
    columns: tuple[str, ...]
    rows: tuple[Row, ...]
    broken: tuple[str, ...] = ()


def names(datasets: Mapping[str, Path] = NO_DATASETS) -> tuple[str, ...]:
    """Return the benchmarks and datasets that have named tasks."""
    return (*_LISTED, *datasets)


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


def ids(name: str, datasets: Mapping[str, Path] = NO_DATASETS) -> Iterable[str]:
    """Return the ids of a benchmark's tasks, or of a dataset's, without its name.

    Raises: TaskError if the folder of a dataset cannot be read.
    """
    return _source(name, datasets).ids()


def resolve_task(
    reference: str, settings: TaskSettings = UNCHANGED, *, datasets: Mapping[str, Path] = NO_DATASETS
) -> tuple[Benchmark, Task]:
    """Return the task that TASK means: `demo/ledger`, `ledger` if one benchmark has it, or a task directory's path.

    An exact name comes first, then a task directory, then a partial name that matches only one task.

    Raises: TaskError (unknown, with similar names; ambiguous, with all candidates; malformed).
    """
    if not reference or "\0" in reference:
        raise TaskError("the task's name is empty" if not reference else "the task's name contains a NUL character")
    head, slash, rest = reference.partition("/")
    is_full = bool(slash) and head in names(datasets)
    searched, word = ((head,), rest) if is_full else (_readable(datasets), reference)
    matches: dict[str, Named] = {name: _source(name, datasets).named(word) for name in searched}
    exactly = [(name, id) for name, tasks in matches.items() for id in tasks.exactly]
    if exactly:
        return _only(exactly, f"{reference!r} is ambiguous", settings, datasets)
    directory = Path(reference).expanduser()
    exists = _exists(directory)
    if exists and (directory.name in formats.TASK_FILES or formats.format_of(directory)):
        return _at(directory, settings)
    perhaps = [(name, id) for name, tasks in matches.items() for id in tasks.perhaps]
    if perhaps:
        return _only(perhaps, f"no task is named {reference!r}, but several contain it", settings, datasets)
    if exists:
        return _at(directory, settings)
    if reference.count("/") > 1 or reference.startswith((".", "/", "~")):
        raise TaskError(f"{directory}: no such directory of a task")
    raise TaskError(_unknown(reference, searched, datasets))


def task_lists(
    benchmark_name: str | None = None,
    words: Iterable[str] = (),
    *,
    tier: str | None = None,
    datasets: Mapping[str, Path] = NO_DATASETS,
) -> list[TaskList]:
    """Return the named tasks that match all these words, of one benchmark or of each, in one tier of difficulty or all.

    A word matches as a part of id, title or repository, or as the whole language, difficulty or kind. A dataset that
    cannot be read is an error only if it is asked for by name.

    Raises: TaskError.
    """
    wanted = [word.lower() for word in words]
    lists = []
    for name in names(datasets) if benchmark_name is None else (benchmark_name,):
        try:
            tasks = _list(name, datasets)
        except TaskError as error:
            if benchmark_name is not None or name not in datasets:
                raise
            tasks = TaskList(name, COLUMNS, (), (str(error),))
        in_tier = (row for row in tasks.rows if tier is None or str(row.get("difficulty")).lower() == tier)
        rows = tuple(row for row in in_tier if all(_matches(row, word) for word in wanted))
        lists.append(TaskList(name, tasks.columns, rows, tasks.broken))
    return lists


def task_rows(benchmark_name: str | None = None) -> list[Row]:
    """Return the rows of all named tasks, or of one benchmark's, by benchmark and name.

    Raises: TaskError.
    """
    return [row for tasks in task_lists(benchmark_name) for row in tasks.rows]


def _source(name: str, datasets: Mapping[str, Path]) -> Benchmark | Dataset:
    if name in datasets:
        return Dataset(name, datasets[name])
    if name not in _LISTED and name not in _UNLISTED:
        raise TaskError(f"unknown benchmark {name!r}{_near(name, names(datasets))}")
    return benchmark(name)


def _list(name: str, datasets: Mapping[str, Path]) -> TaskList:
    source = _source(name, datasets)
    if isinstance(source, Dataset):
        read = source.rows()
        return TaskList(name, COLUMNS, read.rows, read.broken)
    return TaskList(name, source.columns, tuple(source.rows()))


def _readable(datasets: Mapping[str, Path]) -> tuple[str, ...]:
    """Return the benchmarks, and the datasets whose folder exists."""
    return names({name: folder for name, folder in datasets.items() if folder.is_dir()})


def _matches(row: Row, word: str) -> bool:
    return any(word in str(row.get(key, "")).lower() for key in _SEARCHED) or any(
        word == str(row.get(key, "")).lower() for key in _EXACT
    )


def _only(
    candidates: list[tuple[str, str]], problem: str, settings: TaskSettings, datasets: Mapping[str, Path]
) -> tuple[Benchmark, Task]:
    if len(candidates) > 1:
        shown = ", ".join(f"{name}/{id}" for name, id in candidates[:_CANDIDATES])
        more = len(candidates) - _CANDIDATES
        raise TaskError(f"{problem}: {shown}" + (f" and {more} more; see `agent tasks list`" if more > 0 else ""))
    name, id = candidates[0]
    source = _source(name, datasets)
    return source.load(id, settings) if isinstance(source, Dataset) else (source, source.load(id, settings))


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


def _unknown(reference: str, searched: tuple[str, ...], datasets: Mapping[str, Path]) -> str:
    """Return the message for a name that no task has."""
    from trajectories.writing import excerpts

    head, slash, wanted = reference.rpartition("/")
    shown = reference if len(reference) <= 80 else excerpts.beginning(reference, 77) + "..."
    readable = _readable(datasets)
    near = _near_tasks(wanted, searched, datasets) or _near_tasks(wanted, readable, datasets)
    hint = f"did you mean {' or '.join(near)}?" if near else "see `agent tasks list`"
    if slash and not difflib.get_close_matches(head, readable):
        register = f"no benchmark or dataset is named {head}; register its folder: agent tasks add DIR --name {head}"
        hint = f"{hint} ({register})" if near else register
    lost = [name for name in datasets if name not in readable]
    if not slash and lost and not near:
        hint += f" (the folder of dataset {lost[0]} is missing: {datasets[lost[0]]})"
    return f"unknown task {shown!r}; {hint}"


def _near_tasks(wanted: str, among: tuple[str, ...], datasets: Mapping[str, Path]) -> list[str]:
    """Return tasks with an id, or a part of an id, like this; `owner__repository.commit` has three parts."""
    ids_by_word: dict[str, list[str]] = {}
    for name in among:
        for id in ids(name, datasets):
            for word in {id.lower(), *re.split(r"__|\.", id.lower())}:
                ids_by_word.setdefault(word, []).append(f"{name}/{id}")
    for cutoff in (0.7, 0.6):  # less similar names only if there are no more similar ones
        if close := difflib.get_close_matches(wanted.lower(), ids_by_word, n=3, cutoff=cutoff):
            break
    return list(dict.fromkeys(id for word in close for id in ids_by_word[word]))[:4]


def _near(name: str, existing: tuple[str, ...]) -> str:
    near = difflib.get_close_matches(name, existing, n=3)
    return f"; did you mean {' or '.join(near)}?" if near else f"; the benchmarks are {', '.join(existing)}"
