"""A task's own solution on its way to `--model oracle`, which knows no tasks: packed, and held against a limit."""

from __future__ import annotations

from agent.models.free.oracle import Solution
from benchmarks.task import taskdir, tree
from benchmarks.task.task import Task, TaskError

MOST_BYTES = 64 << 20
"""A larger one is refused: its commands are kept in the record, three times as long."""


def solution_of(task: Task) -> Solution:
    """The task's solution, with plain modes.

    Raises: TaskError where it has none, or one that cannot be brought.
    """
    if task.solution is None:
        raise TaskError(
            f"{task.id} has no solution of its own, so --model oracle has nothing to bring; name another model "
            "(agent tasks show says whether a task has one)"
        )
    found = tree.scan(task.solution, taskdir.CACHES)
    if found.skipped:
        raise TaskError(f"{task.solution / found.skipped[0].path}: {found.skipped[0].why} cannot be brought by a model")
    with tree.packed(found, plain_modes=True) as stream:
        archive = stream.read(MOST_BYTES + 1)
    if len(archive) > MOST_BYTES:
        raise TaskError(f"{task.solution}: is larger than {MOST_BYTES >> 20} MiB, too much for commands to bring")
    return Solution(archive, tree.digest(found))
