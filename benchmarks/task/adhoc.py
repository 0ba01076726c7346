"""Ad-hoc tasks: an instruction of the user's with an image, or with a copy of one of the user's directories.

Such a task has no hidden suite, so it cannot be evaluated. The user's directory is read, never changed.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from pathlib import Path

from benchmarks.task import tree
from benchmarks.task.directory import put
from benchmarks.task.feedback import FeedbackContent, FeedbackError
from benchmarks.task.settings import UNCHANGED, TaskSettings
from benchmarks.task.submission import Submission
from benchmarks.task.task import Benchmark, Named, Row, Task, TaskError, no_variants
from environments.protocol import WORKSPACE, Environment, EnvironmentSpec, Kind
from environments.reporting import Reporter
from trajectories.record.events import FeedbackForm, Skipped, TaskRef
from trajectories.record.verdict import Evaluator, Verdict

NAME = "adhoc"
_TITLE_CHARACTERS = 60


def adhoc_task(instruction: str, *, image: str | None = None, workspace: Path | None = None) -> tuple[Benchmark, Task]:
    """Return the task of an instruction together with an image or a directory.

    With an image only docker is allowed; with a directory alone the sandbox and local are.

    Raises: TaskError.
    """
    if not instruction.strip():
        raise TaskError("the instruction is empty")
    if image is None and workspace is None:
        raise TaskError("an ad-hoc task needs an image or a workspace; use --image or --workspace")
    parts = [f"instruction {hashlib.sha256(instruction.encode()).hexdigest()}"]
    kinds: tuple[Kind, ...] = ("docker",)
    if image is not None:
        parts.append(f"image {image}")
    if workspace is not None:
        parts.append(f"workspace {tree.digest(_scan(workspace))}")
        kinds = ("sandbox", "local") if image is None else ("docker",)
    digest = hashlib.sha256("\n".join(parts).encode()).hexdigest()
    first = instruction.strip().splitlines()[0].strip("# ")
    task = Task(
        id=f"{NAME}/{digest[:8]}",
        benchmark=NAME,
        title=first if len(first) <= _TITLE_CHARACTERS else first[: _TITLE_CHARACTERS - 1] + "…",
        instruction=instruction,
        digest=digest,
        kinds=kinds,
        spec=_spec(kinds[0], image),
        facts={"kind": NAME},
        evaluable=False,
        directory=workspace.resolve() if workspace is not None else None,
    )
    return AdHoc(), task


def recorded_task(ref: TaskRef, instruction: str, *, image: str | None = None) -> tuple[Benchmark, Task]:
    """Return the task of a record that contains its workspace: the original directory may be gone or changed."""
    kinds: tuple[Kind, ...] = ("sandbox", "local") if image is None else ("docker",)
    spec = _spec(kinds[0], image)
    task = Task(ref.id, NAME, ref.title, instruction, ref.digest, kinds, spec, facts={"kind": NAME}, evaluable=False)
    return AdHoc(), task


def _spec(kind: Kind, image: str | None) -> EnvironmentSpec:
    """Return the environment; an image of the user's has its own directory for work."""
    return EnvironmentSpec(kind=kind, image=image, workdir=WORKSPACE if image is None else None)


class AdHoc:
    """The adapter of ad-hoc tasks: copies the directory into the workspace, and evaluates nothing."""

    name = NAME
    columns: tuple[str, ...] = ()

    def ids(self) -> Iterable[str]:
        """Return nothing: ad-hoc tasks are not listed."""
        return ()

    def named(self, word: str) -> Named:
        """Return nothing: an ad-hoc task has no name."""
        return Named()

    def rows(self) -> Iterable[Row]:
        """Return nothing: ad-hoc tasks are not listed."""
        return ()

    def load(self, id: str, settings: TaskSettings = UNCHANGED) -> Task:
        """Refuse: an ad-hoc task has no id to look up. Raises: TaskError."""
        raise TaskError(f"{NAME}/{id}: an ad-hoc task cannot be named; use --instruction with --image or --workspace")

    def vary(self, task: Task, variants: tuple[str, ...]) -> Task:
        """Return the task, which has no ablations. Raises: TaskError if any is requested."""
        return no_variants(task, variants)

    def prepare(self, task: Task, environment: Environment) -> tuple[Skipped, ...]:
        """Copy the directory into the workspace with modes, links and holes, but without special files.

        Raises: EnvironmentLost, TaskError.
        """
        if task.directory is None:
            return ()
        return put(_scan(task.directory), environment, plain_modes=False)

    def lacking(self, task: Task, environment: Environment) -> tuple[str, ...]:
        """Return nothing: nothing is evaluated."""
        return ()

    def evaluate(
        self, task: Task, submission: Submission, kind: Kind, scratch: Path, reporter: Reporter | None = None
    ) -> Verdict:
        """Return a verdict with status "error", because the task has no tests."""
        return Verdict(
            status="error",
            evaluator=Evaluator(name="none", version="1"),
            isolation="none: nothing ran",
            error=f"{task.id} is an ad-hoc task, it has no tests",
        )

    def feedback(self, task: Task, verdict: Verdict, scratch: Path, form: FeedbackForm) -> FeedbackContent:
        """Refuse: there is no result to show. Raises: FeedbackError."""
        raise FeedbackError(f"{task.id} is an ad-hoc task, it has no tests, so there is no feedback")


def _scan(workspace: Path) -> tree.Tree:
    if not workspace.is_dir():
        raise TaskError(f"the workspace {workspace} is not a directory")
    return tree.scan(workspace.resolve())
