"""The benchmark that is a folder of our task directories: the demos, or what a user's path names."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from benchmarks.task import taskdir, tree
from benchmarks.task.task import Named, Row, Task, TaskError, no_variants, row
from environments.protocol import Environment, Kind
from trajectories.record.events import Skipped
from trajectories.record.verdict import Verdict


class TaskDirectories:
    """Every directory below `root` that holds a `task.yaml` is a task, named after it.

    What a task names (a build context, say) must lie inside `within`, by default its own directory.
    """

    columns: tuple[str, ...] = ("id", "title", "kind", "language", "environments", "tests")

    def __init__(self, name: str, root: Path, within: Path | None = None) -> None:
        self.name = name
        self.root = root
        self._within = within

    def ids(self) -> Iterable[str]:
        """Names of the tasks, sorted."""
        return sorted(path.parent.name for path in self.root.glob(f"*/{taskdir.TASK_FILE}"))

    def named(self, word: str) -> Named:
        """The task of that name."""
        return Named((word,)) if word in self.ids() else Named()

    def rows(self) -> Iterable[Row]:
        """The tasks' lines in a list.

        Raises: TaskError.
        """
        return [row(self.load(id)) for id in self.ids()]

    def load(self, id: str) -> Task:
        """The task of that name.

        Raises: TaskError.
        """
        if "/" in id or not (self.root / id / taskdir.TASK_FILE).is_file():
            raise TaskError(f"{self.root / id / taskdir.TASK_FILE}: is missing")
        return taskdir.load(self.root / id, benchmark=self.name, root=self._within)

    def vary(self, task: Task, variants: tuple[str, ...]) -> Task:
        """Raises: TaskError, always: there are no ablations of it."""
        return no_variants(task, variants)

    def prepare(self, task: Task, environment: Environment) -> tuple[Skipped, ...]:
        """Unpack the task's initial files into the workspace, if it has any.

        Raises: EnvironmentLost, TaskError.
        """
        assert task.directory is not None
        workspace = task.directory / taskdir.WORKSPACE
        if workspace.is_dir():
            return put(tree.scan(workspace, taskdir.CACHES), environment, plain_modes=True)
        return ()

    def evaluate(self, task: Task, workspace: Path, kind: Kind, scratch: Path) -> Verdict:
        """Let the hidden suite judge an exported workspace; see `suite.evaluate`."""
        from benchmarks.judging import suite

        return suite.evaluate(task, workspace, kind, scratch)


def put(files: tree.Tree, environment: Environment, *, plain_modes: bool) -> tuple[Skipped, ...]:
    """Stream a tree into the environment's workspace; returns what of it cannot be copied.

    Raises: EnvironmentLost, TaskError.
    """
    if files.entries:
        with tree.packed(files, plain_modes=plain_modes) as archive:
            environment.put(archive, ".")
    return files.skipped
