"""Tasks, and one adapter a benchmark: load a task, prepare its environment, evaluate what came out.

May import `trajectories` and `environments`; is imported by `agent`. Public names are loaded when
they are first used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from benchmarks.adhoc import adhoc_task as adhoc_task
    from benchmarks.registry import benchmark as benchmark, resolve_task as resolve_task, task_rows as task_rows
    from benchmarks.task import Benchmark as Benchmark, Task as Task, TaskError as TaskError

_EXPORTS = {
    "Benchmark": "task",
    "Task": "task",
    "TaskError": "task",
    "adhoc_task": "adhoc",
    "benchmark": "registry",
    "resolve_task": "registry",
    "task_rows": "registry",
}
__all__ = sorted(_EXPORTS)


def __getattr__(name: str) -> object:
    if name not in _EXPORTS:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_EXPORTS[name]}"), name)
