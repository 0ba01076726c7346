"""A task made on the spot: an instruction with an image, or with a copy of a directory of the user's.

It has no hidden suite, so nothing evaluates it. The user's directory is read, never changed.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from pathlib import Path, PurePosixPath

from benchmarks.task import tree
from benchmarks.task.directory import put
from benchmarks.task.task import Benchmark, Named, Row, Task, TaskError, no_variants
from environments.protocol import Environment, EnvironmentSpec, Kind
from trajectories.record.events import Skipped, TaskRef
from trajectories.record.verdict import Evaluator, Verdict

NAME = "adhoc"
_TITLE_CHARACTERS = 60


def adhoc_task(instruction: str, *, image: str | None = None, workspace: Path | None = None) -> tuple[Benchmark, Task]:
    """The task that a text makes together with an image or a directory.

    An image, with or without a directory, allows docker only; a directory alone the sandbox and local.

    Raises: TaskError.
    """
    if not instruction.strip():
        raise TaskError("the instruction is empty")
    if image is None and workspace is None:
        raise TaskError("an ad-hoc task needs a place to work: an image or a workspace")
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
        spec=EnvironmentSpec(kind=kinds[0], image=image, workdir=PurePosixPath("/workspace")),
        facts={"kind": NAME},
        evaluable=False,
        directory=workspace.resolve() if workspace is not None else None,
    )
    return AdHoc(), task


def recorded_task(ref: TaskRef, instruction: str, *, image: str | None = None) -> tuple[Benchmark, Task]:
    """The task of a record that holds its workspace itself: the directory it was made with may be gone or changed."""
    kinds: tuple[Kind, ...] = ("sandbox", "local") if image is None else ("docker",)
    spec = EnvironmentSpec(kind=kinds[0], image=image, workdir=PurePosixPath("/workspace"))
    task = Task(ref.id, NAME, ref.title, instruction, ref.digest, kinds, spec, facts={"kind": NAME}, evaluable=False)
    return AdHoc(), task


class AdHoc:
    """The adapter of ad-hoc tasks: copies the directory in, evaluates nothing."""

    name = NAME
    columns: tuple[str, ...] = ()

    def ids(self) -> Iterable[str]:
        """None: an ad-hoc task is made, not found."""
        return ()

    def named(self, word: str) -> Named:
        """None: an ad-hoc task has no name."""
        return Named()

    def rows(self) -> Iterable[Row]:
        """None."""
        return ()

    def load(self, id: str) -> Task:
        """Raises: TaskError, always."""
        raise TaskError(f"{NAME}/{id}: an ad-hoc task is made with --instruction, it cannot be looked up")

    def vary(self, task: Task, variants: tuple[str, ...]) -> Task:
        """Raises: TaskError, always: there are no ablations of it."""
        return no_variants(task, variants)

    def prepare(self, task: Task, environment: Environment) -> tuple[Skipped, ...]:
        """Copy the directory into the workspace: modes, links and holes kept, special files left out.

        Raises: EnvironmentLost, TaskError.
        """
        if task.directory is None:
            return ()
        return put(_scan(task.directory), environment, plain_modes=False)

    def evaluate(self, task: Task, workspace: Path, kind: Kind, scratch: Path) -> Verdict:
        """A verdict with status "error": there is nothing to evaluate with."""
        return Verdict(
            status="error",
            evaluator=Evaluator(name="none", version="1"),
            isolation="none: nothing ran",
            error=f"{task.id} is an ad-hoc task, it has no tests",
        )


def _scan(workspace: Path) -> tree.Tree:
    if not workspace.is_dir():
        raise TaskError(f"the workspace {workspace} is no directory")
    return tree.scan(workspace.resolve())
