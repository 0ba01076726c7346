"""Packs a task's own solution for `--model oracle`, which knows no tasks, and checks its size.

A solution is a directory for the workspace, or a script with files that it needs elsewhere.
"""

from __future__ import annotations

import hashlib
import json
import shlex
from pathlib import Path

from agent.models.free.oracle import Solution
from benchmarks.task import taskdir, tree
from benchmarks.task.solve_script import SolveScript
from benchmarks.task.task import Task, TaskError
from trajectories.record.events import Limits

MOST_BYTES = 64 << 20
"""Largest solution in bytes: its commands are kept in the record, where they are three times as long."""

_SCRIPT_S = 24 * 3600.0
"""Longest time of a task's own solve script if the task has no time limit."""


def oracle_limits(task: Task) -> Limits:
    """Return the task's limits, with as much time for the one command that runs a script as for the whole trial."""
    if task.solve is None:
        return task.limits
    return task.limits.model_copy(update={"command_s": task.limits.time_s or _SCRIPT_S})


def require_solutions(task: Task) -> None:
    """Require a solution of each stage, so that the oracle does not begin what it cannot end.

    Raises: TaskError naming the stages without one.
    """
    names = ", ".join(stage.name for stage in task.stages if stage.reference is None)
    if names:
        raise TaskError(
            f"{task.id} has no solution of its own for the stage {names}, so --model oracle cannot solve it; name "
            "another model"
        )


def solution_of(task: Task) -> Solution:
    """Return the task's solution, with plain modes.

    Raises: TaskError if it has none, or one that commands cannot bring.
    """
    if task.solve is not None:
        return _of_script(task.solve)
    if task.solve_problem:
        raise TaskError(f"--model oracle cannot solve {task.id}: {task.solve_problem}")
    if task.solution is None:
        raise TaskError(
            f"{task.id} has no solution of its own, so --model oracle has nothing to submit; name another model "
            "(agent tasks show says whether a task has one)"
        )
    files = tree.scan(task.solution, taskdir.CACHES)
    return Solution(_packed(files, task.solution), tree.digest(files))


def _of_script(solve: SolveScript) -> Solution:
    """Return a solution that is run in the working directory, after its files are in their own.

    Raises: TaskError.
    """
    files = solve.files()
    exports = "".join(f"export {name}={shlex.quote(value)}\n" for name, value in sorted(solve.env.items()))
    # a shell of its own, so that `exit`, `cd` and the exports have no effect on a persistent shell
    run = f"(\n{exports}{solve.script}\n)"
    parts = [tree.digest(files), solve.directory, run]
    sha256 = hashlib.sha256(json.dumps(parts).encode()).hexdigest()
    archive = b"" if solve.directory is None else _packed(files, solve.source)
    return Solution(archive, sha256, solve.directory, run)


def _packed(files: tree.Tree, source: Path) -> bytes:
    """Return the files as a tar.

    Raises: TaskError.
    """
    if files.skipped:
        raise TaskError(f"{source / files.skipped[0].path}: {files.skipped[0].why} cannot be brought by a model")
    with tree.packed(files, plain_modes=True) as stream:
        archive = stream.read(MOST_BYTES + 1)
    if len(archive) > MOST_BYTES:
        raise TaskError(f"{source}: is larger than {MOST_BYTES >> 20} MiB, too much for commands to bring")
    return archive
