"""The benchmark that is a folder of task directories of terminal-bench or LongCLI-Bench."""

from __future__ import annotations

from pathlib import Path

from benchmarks.task.feedback import FeedbackContent
from benchmarks.task.published.folder import STEP_S, TaskFolder
from benchmarks.task.settings import UNCHANGED, TaskSettings
from benchmarks.task.submission import Submission
from benchmarks.task.task import TASK_FILE, Row, Task
from benchmarks.terminalbench import task_directory
from benchmarks.terminalbench.compose_file import LOGS
from environments.protocol import Environment, Kind
from environments.reporting import Reporter
from trajectories.record.events import FeedbackForm, Skipped
from trajectories.record.verdict import Verdict


class TerminalBench(TaskFolder):
    """A benchmark whose tasks are the directories in `root` with a `task.yaml`; the directory's name is the task's."""

    file = TASK_FILE

    def row(self, id: str) -> Row:
        """Return the task's line in a list.

        Raises: TaskError.
        """
        return task_directory.row(self.directory(id), self.name)

    def load(self, id: str, settings: TaskSettings = UNCHANGED) -> Task:
        """Return the task of that name.

        Raises: TaskError.
        """
        return task_directory.load(self.directory(id), benchmark=self.name, settings=settings)

    def prepare(self, task: Task, environment: Environment) -> tuple[Skipped, ...]:
        """Make the directories for logs that the authors' harness mounts; the image has the task's initial files.

        Raises: EnvironmentLost.
        """
        environment.execute(f"mkdir -p {' '.join(LOGS)}", deadline_s=STEP_S, cwd="/", as_root=True)
        self.place_solution(task, environment)
        return ()

    def evaluate(
        self, task: Task, submission: Submission, kind: Kind, scratch: Path, reporter: Reporter | None = None
    ) -> Verdict:
        """Judge a submission with the task's own test script; see `evaluation.evaluate`."""
        from benchmarks.terminalbench import evaluation

        return evaluation.evaluate(task, submission, scratch, reporter)

    def feedback(self, task: Task, verdict: Verdict, scratch: Path, form: FeedbackForm) -> FeedbackContent:
        """Return the feedback on a verdict.

        Raises: FeedbackError.
        """
        from benchmarks.terminalbench import feedback

        return feedback.content(task, verdict, scratch, form)
