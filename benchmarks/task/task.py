"""What a task is, and what a benchmark's adapter must do for one.

Types and the protocol only. A benchmark knows environments and the record, no agent and no model.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from environments.protocol import Environment, EnvironmentSpec, Kind
from trajectories.record.events import Limits, Skipped
from trajectories.record.verdict import Verdict

TASK_FILE = "task.yaml"
"""What makes a directory a task of our own format."""


class TaskError(Exception):
    """A task that cannot be used: unknown, ambiguous, malformed (file, key, reason)."""


@dataclass(frozen=True)
class Task:
    """A task, resolved. `spec` is what it asks of its environment, its kind left to the trial."""

    id: str
    """With its benchmark: `demo/ledger`."""
    benchmark: str
    title: str
    instruction: str
    digest: str
    """sha256 over the task's whole content, hidden tests included."""
    kinds: tuple[Kind, ...]
    """Environments that it allows, the preferred first."""
    spec: EnvironmentSpec
    limits: Limits = Limits()
    prompt: str = "default"
    language: str = ""
    facts: Mapping[str, str] = field(default_factory=dict)
    """For people: kind, difficulty, number of tests, ..."""
    evaluable: bool = True
    directory: Path | None = None
    solution: Path | None = None
    """A directory whose content, put into the workspace, solves the task; for `--model oracle`."""
    variants: Mapping[str, str] = field(default_factory=dict)
    """Ablations that the benchmark knows for it, with what each changes; see `Benchmark.vary`."""
    variant: str = ""
    """Which of them this is, sorted and joined with `+`; empty is the task as the benchmark has it."""


@dataclass(frozen=True)
class Named:
    """Which tasks a short name means: `exactly` these, or, where there is none, `perhaps` these."""

    exactly: tuple[str, ...] = ()
    perhaps: tuple[str, ...] = ()


Row = Mapping[str, str | int | list[str] | None]
"""A task in a list: id, title, kind, language, environments, tests (None if not known), and what else there is."""


def row(task: Task) -> Row:
    """A task's line in a list."""
    tests = task.facts.get("tests")
    return {
        "id": task.id,
        "title": task.title,
        "kind": task.facts.get("kind", ""),
        "language": task.language,
        "environments": list(task.kinds),
        "tests": int(tests) if tests else None,
    }


class Benchmark(Protocol):
    """One adapter a benchmark."""

    name: str
    columns: tuple[str, ...]
    """Which keys of its rows a table has room for, in order."""

    def ids(self) -> Iterable[str]:
        """Ids of all its tasks that are listed, without the benchmark's name; cheap."""

    def named(self, word: str) -> Named:
        """The ids that a name without the benchmark's may mean; cheap. An id means exactly itself."""

    def rows(self) -> Iterable[Row]:
        """All its tasks that are listed, by id; without what only a whole task needs (its digest).

        Raises: TaskError.
        """

    def load(self, id: str) -> Task:
        """The task with this id.

        Raises: TaskError.
        """

    def vary(self, task: Task, variants: tuple[str, ...]) -> Task:
        """The task with these ablations: their names are in `Task.variants`.

        Raises: TaskError for one that it does not have, or two that exclude each other.
        """

    def prepare(self, task: Task, environment: Environment) -> tuple[Skipped, ...]:
        """Put the task's initial files into a started environment; returns what cannot be copied.

        Raises: EnvironmentLost, TaskError.
        """

    def evaluate(self, task: Task, workspace: Path, kind: Kind, scratch: Path) -> Verdict:
        """Score an exported workspace (tar.zst) in a fresh environment of this kind.

        A failure of the evaluator is a verdict with status "error", never an exception.
        `scratch` is a directory for logs; what is left there is kept with the trial. It is empty, or holds what an
        evaluation of this very workspace left behind that came to no score: go on from that, or remove it.
        """


def no_variants(task: Task, variants: tuple[str, ...]) -> Task:
    """The task as it is, for a benchmark without ablations.

    Raises: TaskError if any is asked for.
    """
    if variants:
        raise TaskError(f"{task.id} has no variant {variants[0]!r}; leave --variant out")
    return task
