"""Tasks and benchmarks: loading a task, preparing its environment, and evaluating the result.

`task` says what every benchmark family must do, `judging` runs hidden pytest suites, and each family (`demos`,
`programbench`) has a package with its adapter. Families never import each other, and no package imports a model. Only
`agent` may import this package, which imports `environments` and `trajectories`. The names below are public; each is
loaded at its first use.
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
