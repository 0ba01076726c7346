"""Tasks, and one adapter a benchmark: load a task, prepare its environment, evaluate what came out.

May import `trajectories` and `environments`; is imported by `agent`. Public names are loaded when
they are first used.
"""

from typing import TYPE_CHECKING

import lazy_loader

if TYPE_CHECKING:
    from benchmarks.task.adhoc import adhoc_task as adhoc_task
    from benchmarks.task.registry import benchmark as benchmark, resolve_task as resolve_task, task_rows as task_rows
    from benchmarks.task.task import Benchmark as Benchmark, Task as Task, TaskError as TaskError

__getattr__, __dir__, __all__ = lazy_loader.attach(
    __name__,
    submod_attrs={
        "task.adhoc": ["adhoc_task"],
        "task.registry": ["benchmark", "resolve_task", "task_rows"],
        "task.task": ["Benchmark", "Task", "TaskError"],
    },
)
