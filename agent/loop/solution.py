"""Packs a task's own solution for `--model oracle`, which knows no tasks, and checks its size."""

from __future__ import annotations

from agent.models.free.oracle import Solution
from benchmarks.task import taskdir, tree
from benchmarks.task.task import Task, TaskError

MOST_BYTES = 64 << 20
"""Largest solution in bytes: its commands are kept in the record, where they are three times as long."""


def solution_of(task: Task) -> Solution:
    """Return the task's solution, with plain modes.

    Raises: TaskError if it has none, or one that commands cannot bring.
    """
    if task.solution is None:
        raise TaskError(
            f"{task.id} has no solution of its own, so --model oracle has nothing to submit; name another model "
            "(agent tasks show says whether a task has one)"
        )
    files = tree.scan(task.solution, taskdir.CACHES)
    if files.skipped:
        raise TaskError(f"{task.solution / files.skipped[0].path}: {files.skipped[0].why} cannot be brought by a model")
    with tree.packed(files, plain_modes=True) as stream:
        archive = stream.read(MOST_BYTES + 1)
    if len(archive) > MOST_BYTES:
        raise TaskError(f"{task.solution}: is larger than {MOST_BYTES >> 20} MiB, too much for commands to bring")
    return Solution(archive, tree.digest(files))
