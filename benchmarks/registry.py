"""Benchmarks by name, and what a user means by TASK.

A benchmark's module is imported when one of its tasks is asked for; an id is looked up among
`ids()`, which is cheap, before anything is loaded.
"""

from __future__ import annotations

import difflib
from importlib import import_module
from pathlib import Path

from benchmarks.task import Benchmark, Task, TaskError
from benchmarks.taskdir import TASK_FILE

_LISTED = {"demo": "benchmarks.demos:DEMO"}
"""Benchmarks whose tasks have names: module and attribute."""
_UNLISTED = {"adhoc": "benchmarks.adhoc:AdHoc"}
PATH = "path"
"""The benchmark of tasks that are named by the path of their directory."""


Row = dict[str, str | int | list[str] | None]
"""What a list of tasks shows of one, in order: id, title, kind, language, environments, tests (None if not known)."""


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

    Raises: TaskError (unknown, with near names; ambiguous, with all candidates; malformed).
    """
    if not reference or "\0" in reference:
        raise TaskError("the task's name is empty" if not reference else "the task's name holds a NUL")
    head, slash, rest = reference.partition("/")
    if slash and head in _LISTED:
        adapter = benchmark(head)
        if rest in adapter.ids():
            return adapter, adapter.load(rest)
    matches = [] if slash else [name for name in names() if reference in benchmark(name).ids()]
    if len(matches) > 1:
        raise TaskError(f"{reference!r} is ambiguous: {', '.join(f'{name}/{reference}' for name in matches)}")
    if matches:
        adapter = benchmark(matches[0])
        return adapter, adapter.load(reference)
    directory = Path(reference).expanduser()
    if _exists(directory):
        return _at(directory)
    known = {f"{name}/{id}": id for name in names() for id in benchmark(name).ids()}
    wanted = reference.rpartition("/")[2]
    near = [id for id in known if known[id] in difflib.get_close_matches(wanted, known.values(), n=3)]
    hint = f"; did you mean {' or '.join(near)}?" if near else "; see `agent tasks list`"
    shown = reference if len(reference) <= 80 else reference[:77] + "..."
    raise TaskError(f"unknown task {shown!r}{hint}")


def task_rows(benchmark_name: str | None = None) -> list[Row]:
    """All named tasks, or one benchmark's, by benchmark and name.

    Raises: TaskError.
    """
    found = []
    for name in names() if benchmark_name is None else (benchmark_name,):
        adapter = benchmark(name)
        found += [row(adapter.load(id)) for id in adapter.ids()]
    return found


def row(task: Task) -> Row:
    """A task's line in a list."""
    tests = task.facts.get("tests")
    return {
        "id": task.id,
        "title": task.title,
        "kind": task.facts.get("kind", ""),
        "language": task.language,
        "environments": list(task.kinds),
        "tests": int(tests) if tests else None,
    }


def _at(path: Path) -> tuple[Benchmark, Task]:
    from benchmarks.directory import TaskDirectories

    if path.name == TASK_FILE and path.is_file():
        path = path.parent
    if not (path / TASK_FILE).is_file():
        raise TaskError(f"{path}: is no task directory, it has no {TASK_FILE}")
    path = path.resolve()
    adapter = TaskDirectories(PATH, path.parent)
    return adapter, adapter.load(path.name)


def _exists(path: Path) -> bool:
    try:
        return path.exists()
    except OSError:  # a name that is too long for the file system
        return False


def _near(name: str, known: tuple[str, ...]) -> str:
    near = difflib.get_close_matches(name, known, n=3)
    return f"; did you mean {' or '.join(near)}?" if near else f"; there is {', '.join(known)}"
