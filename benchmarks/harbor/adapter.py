"""The benchmark that is a folder of task directories in Harbor's format."""

from __future__ import annotations

from pathlib import Path

from benchmarks.harbor import loading
from benchmarks.harbor.readiness import make_ready
from benchmarks.harbor.reading.task_directory import FILE, Source, read
from benchmarks.harbor.steps import begin_step
from benchmarks.task.feedback import FeedbackContent
from benchmarks.task.published.folder import TaskFolder
from benchmarks.task.settings import UNCHANGED, TaskSettings
from benchmarks.task.submission import Submission
from benchmarks.task.task import Row, Task
from environments.protocol import Environment, Kind
from environments.reporting import Reporter
from trajectories.record.events import FeedbackForm, Skipped
from trajectories.record.verdict import Verdict


class Harbor(TaskFolder):
    """A benchmark whose tasks are the directories in `root` with a `task.toml`; the directory's name is the task's."""

    file = FILE

    def row(self, id: str) -> Row:
        """Return the task's line in a list.

        Raises: TaskError.
        """
        return loading.row(self.directory(id), id=id, benchmark=self.name)

    def load(self, id: str, settings: TaskSettings = UNCHANGED) -> Task:
        """Return the task of that name.

        Raises: TaskError.
        """
        return loading.load(self.directory(id), id=id, benchmark=self.name, settings=settings)

    def prepare(self, task: Task, environment: Environment) -> tuple[Skipped, ...]:
        """Make the container ready: log directories, skills, health checks, and the files and set-up of a step.

        Raises: EnvironmentLost, TaskError.
        """
        assert task.directory is not None
        harbor = read(Source.of(task.directory, task.settings))
        if task.stage in (None, 1):
            make_ready(harbor, environment, harbor.file.environment.healthcheck)
        if task.stage is not None:
            begin_step(harbor, task.stage, environment)
        self.place_solution(task, environment)
        return ()

    def evaluate(
        self, task: Task, submission: Submission, kind: Kind, scratch: Path, reporter: Reporter | None = None
    ) -> Verdict:
        """Judge a submission with the task's own verifier; see `evaluation.evaluate`."""
        from benchmarks.harbor import evaluation

        return evaluation.evaluate(task, submission, scratch, reporter)

    def feedback(self, task: Task, verdict: Verdict, scratch: Path, form: FeedbackForm) -> FeedbackContent:
        """Return the feedback on a verdict.

        Raises: FeedbackError.
        """
        from benchmarks.harbor import feedback

        return feedback.content(verdict, scratch, form)
