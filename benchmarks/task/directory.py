"""The benchmark that is a folder of our task directories: the demos, or the folder of a directory that a user names."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from benchmarks.task import taskdir, tree
from benchmarks.task.feedback import FeedbackContent, shows_names
from benchmarks.task.settings import UNCHANGED, TaskSettings
from benchmarks.task.submission import Archive, Submission
from benchmarks.task.task import TASK_FILE, Named, Row, Task, TaskError, no_settings, no_variants
from environments.protocol import Environment, Kind
from environments.reporting import Reporter
from trajectories.record.events import FeedbackForm, Skipped
from trajectories.record.verdict import Verdict


class TaskDirectories:
    """A benchmark whose tasks are the directories in `root` with a `task.yaml`; the directory's name is the task's.

    Paths in a task (for instance a build context) must lie inside `within`, by default inside the task's directory.
    """

    columns: tuple[str, ...] = ("id", "title", "kind", "language", "environments", "tests")

    def __init__(self, name: str, root: Path, within: Path | None = None) -> None:
        self.name = name
        self.root = root
        self._within = within

    def ids(self) -> Iterable[str]:
        """Return the names of the tasks, sorted."""
        return sorted(path.parent.name for path in self.root.glob(f"*/{TASK_FILE}"))

    def named(self, word: str) -> Named:
        """Return the task of that name."""
        return Named((word,)) if word in self.ids() else Named()

    def rows(self) -> Iterable[Row]:
        """Return the tasks' lines in a list.

        Raises: TaskError.
        """
        return [self.row(id) for id in self.ids()]

    def row(self, id: str) -> Row:
        """Return the task's line in a list.

        Raises: TaskError.
        """
        return taskdir.row(self.root / id, benchmark=self.name, root=self._within)

    def load(self, id: str, settings: TaskSettings = UNCHANGED) -> Task:
        """Return the task of that name.

        Raises: TaskError.
        """
        no_settings(id, settings)
        if "/" in id or not (self.root / id / TASK_FILE).is_file():
            raise TaskError(f"{self.root / id / TASK_FILE}: is missing")
        return taskdir.load(self.root / id, benchmark=self.name, root=self._within)

    def vary(self, task: Task, variants: tuple[str, ...]) -> Task:
        """Return the task, which has no ablations. Raises: TaskError if any is requested."""
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

    def lacking(self, task: Task, environment: Environment) -> tuple[str, ...]:
        """Return what the hidden suite needs in the task's image and does not find there; see `suite.lacking`."""
        from benchmarks.judging import suite

        return suite.lacking(task, environment)

    def evaluate(
        self, task: Task, submission: Submission, kind: Kind, scratch: Path, reporter: Reporter | None = None
    ) -> Verdict:
        """Judge an exported workspace with the hidden suite; see `suite.evaluate`."""
        from benchmarks.judging import suite

        assert isinstance(submission, Archive)
        return suite.evaluate(task, submission.path, kind, scratch, reporter=reporter)

    def feedback(self, task: Task, verdict: Verdict, scratch: Path, form: FeedbackForm) -> FeedbackContent:
        """Return the feedback on a verdict of the hidden suite; its output is what pytest and the build printed.

        Raises: FeedbackError.
        """
        from benchmarks.judging import feedback, suite

        return feedback.feedback(
            verdict,
            form,
            names=shows_names(task.feedback),
            tests_log=feedback.log(scratch / suite.SUITE_LOG),
            build_log=feedback.log(scratch / suite.BUILD_LOG),
        )


def put(files: tree.Tree, environment: Environment, *, plain_modes: bool) -> tuple[Skipped, ...]:
    """Stream a tree into the environment's workspace; return the entries that cannot be copied.

    Raises: EnvironmentLost, TaskError.
    """
    if files.entries:
        with tree.packed(files, plain_modes=plain_modes) as archive:
            environment.put(archive, ".")
    return files.skipped
