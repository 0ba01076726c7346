"""Running a task's own solution in a container, to learn if the tests have a result at all."""

from __future__ import annotations

from benchmarks.judging.system.opening import Opened
from benchmarks.judging.system.running import run_script
from benchmarks.judging.system.script_run import ScriptRun
from benchmarks.task.task import Task
from environments.reporting import Reporter

_SOLVE_S = 3600.0
"""Time of a solution if its task has no time limit."""


def reference(task: Task) -> str:
    """Return what the tests are compared with, in words."""
    return "the task's own solution" if task.solve else "the untouched task"


def solve(task: Task, place: Opened, reporter: Reporter) -> None:
    """Run the task's own solution, if it has one, as the agent's user. Its exit status means nothing.

    Raises: SubmissionFailed, EvaluatorFailed, TaskError, EnvironmentFault.
    """
    if task.solve is None:
        return
    run = ScriptRun(
        script=task.solve.script,
        deadline_s=task.limits.time_s or _SOLVE_S,
        files={task.solve.directory: task.solve.files()} if task.solve.directory is not None else {},
        user=task.spec.user,
        env=task.solve.env,
    )
    run_script(place.environment, place.started, run, reporter)
