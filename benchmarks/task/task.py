"""The task, and the protocol of a benchmark's adapter.

Types only. A benchmark knows environments and the record, but neither agents nor models. Lists of tasks import this
module, so it loads neither pydantic nor the record (0.1 s).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from benchmarks.task.settings import UNCHANGED, TaskSettings

if TYPE_CHECKING:
    from benchmarks.task.feedback import FeedbackContent
    from benchmarks.task.solve_script import SolveScript
    from benchmarks.task.stages import Stage
    from benchmarks.task.submission import Submission
    from environments.protocol import Environment, EnvironmentSpec, Kind, Shell
    from environments.reporting import Reporter
    from trajectories.record.events import FeedbackForm, Limits, Skipped
    from trajectories.record.interventions import ChainResult
    from trajectories.record.verdict import Verdict
    from trajectories.record.words import Result, SubmissionKind

TASK_FILE = "task.yaml"
"""File that makes a directory a task of our own format."""


class TaskError(Exception):
    """A task that cannot be used: unknown, ambiguous or malformed (file, key, reason)."""


def _no_limits() -> Limits:
    from trajectories.record.events import Limits

    return Limits()


@dataclass(frozen=True)
class Task:
    """A resolved task. `spec` describes the environment that it needs; the trial chooses the kind."""

    id: str
    """Name with the benchmark before it: `demo/ledger`."""
    benchmark: str
    title: str
    instruction: str
    digest: str
    """sha256 over the complete content of the task, including hidden tests."""
    kinds: tuple[Kind, ...]
    """Kinds of environment that the task allows, the preferred one first."""
    spec: EnvironmentSpec
    limits: Limits = field(default_factory=_no_limits)
    prompt: str = "default"
    language: str = ""
    facts: Mapping[str, str] = field(default_factory=dict)
    """Facts for people: kind, difficulty, number of tests, ..."""
    evaluable: bool = True
    directory: Path | None = None
    solution: Path | None = None
    """Directory whose content solves the task once it is in the workspace; for `--model oracle`."""
    solve: SolveScript | None = None
    """Script that solves the task, if its solution is not `solution`; for `--model oracle`."""
    solve_problem: str = ""
    """Reason for which the oracle cannot run the solution that the task has; empty if there is none."""
    variants: Mapping[str, str] = field(default_factory=dict)
    """Ablations that the benchmark has for this task, each with the change it makes; see `Benchmark.vary`."""
    variant: str = ""
    """Names of the ablations of this one, sorted and joined with `+`; empty for the benchmark's original task."""
    feedback: tuple[FeedbackForm, ...] = ()
    """Forms of feedback between turns that the task allows, its default first. Empty if it allows none."""
    feedback_revealing: tuple[FeedbackForm, ...] = ()
    """Forms of feedback that would give hidden tests away. They are allowed with `--reveal-tests` only."""
    result: Result = "workspace"
    """The subject of the verdict: the workspace, or the whole system that it is in."""
    submissions: tuple[SubmissionKind, ...] = ("archive",)
    """Forms of a submission that can be judged, the one for a trial's own evaluation first."""
    settings: TaskSettings = UNCHANGED
    shell: Shell | None = None
    """Shell that the agent must have, because its state is judged as well; None if any will do."""
    stages: tuple[Stage, ...] = ()
    """Stages that the task consists of; empty for a task with one instruction and one verdict."""
    stage: int | None = None
    """Number of the stage that this is the task of, from 1. None for a task without stages, and for a whole task."""
    result_of_stages: ChainResult = "mean"
    """Result of all stages together."""

    def at_stage(self, number: int) -> Task:
        """Return the task of one of its stages."""
        stage = self.stages[number - 1]
        return replace(
            self,
            instruction=stage.instruction,
            limits=stage.limits,
            solution=stage.solution,
            solve=stage.solve,
            stage=number,
        )

    @property
    def reference(self) -> Path | None:
        """The directory or file of the task's own solution: an expert may see it, and a plan must not copy it."""
        return self.solve.source if self.solve is not None else self.solution


@dataclass(frozen=True)
class Named:
    """The tasks that a short name means: those in `exactly`, or, if there are none, those in `perhaps`."""

    exactly: tuple[str, ...] = ()
    perhaps: tuple[str, ...] = ()


Row = Mapping[str, str | int | list[str] | None]
"""A task in a list: id, title, kind, language, difficulty (its tier: easy, medium, hard, or empty), environments, tests
(None if unknown), and more for some benchmarks."""


class Benchmark(Protocol):
    """The adapter of one benchmark."""

    name: str
    columns: tuple[str, ...]
    """Keys of its rows that fit into a table, in order."""

    def ids(self) -> Iterable[str]:
        """Return the ids of all listed tasks, without the benchmark's name. Cheap."""

    def named(self, word: str) -> Named:
        """Return the ids that a name without the benchmark may mean. Cheap. An id means exactly itself."""

    def rows(self) -> Iterable[Row]:
        """Return the rows of all listed tasks, by id; without facts that need the whole task, such as its digest.

        Raises: TaskError.
        """

    def load(self, id: str, settings: TaskSettings = UNCHANGED) -> Task:
        """Return the task with this id.

        Raises: TaskError, also for a setting that the benchmark has no use for (`no_settings`).
        """

    def vary(self, task: Task, variants: tuple[str, ...]) -> Task:
        """Return the task with these ablations; their names are keys of `Task.variants`.

        Raises: TaskError for an unknown ablation, or two that exclude each other.
        """

    def prepare(self, task: Task, environment: Environment) -> tuple[Skipped, ...]:
        """Put the task's initial files into a started environment; return the files that cannot be copied.

        For `Task.stage` 2 and later only what that stage adds to the environment, which the stage before has left.

        Raises: EnvironmentLost, TaskError.
        """

    def lacking(self, task: Task, environment: Environment) -> tuple[str, ...]:
        """Return the programs that the evaluation needs and a started environment does not have.

        Asked before a model is paid. Each benchmark knows what its own evaluator runs in the task's image.

        Raises: EnvironmentLost.
        """

    def evaluate(
        self, task: Task, submission: Submission, kind: Kind, scratch: Path, reporter: Reporter | None = None
    ) -> Verdict:
        """Score a submission, one of `Task.submissions`. Archives and images get a fresh environment of this kind.

        A failure of the evaluator is a verdict with status "error", never an exception. `scratch` is a directory for
        logs; files left there are kept with the trial. It is empty, or holds the files of an earlier evaluation of
        this very submission that did not reach a score: continue from them, or remove them. `reporter` shows a person
        how far the evaluation is: a line for each phase, and a count of its tests or branches now and then.
        """

    def feedback(self, task: Task, verdict: Verdict, scratch: Path, form: FeedbackForm) -> FeedbackContent:
        """Return the feedback on a verdict in this form, one of `Task.feedback` and `Task.feedback_revealing`.

        `scratch` is the directory that the evaluation of this verdict left its files in.

        Raises: FeedbackError if there is no feedback, for instance because the evaluator failed.
        """


def no_settings(id: str, settings: TaskSettings) -> None:
    """Accept only settings that change nothing: for a benchmark that has no use for any.

    Raises: TaskError naming the option.
    """
    if settings.changed:
        raise TaskError(f"{settings.changed[0]} does not apply to {id}; leave it out")


def no_variants(task: Task, variants: tuple[str, ...]) -> Task:
    """Return the task unchanged: the `vary` of a benchmark without ablations.

    Raises: TaskError if any is requested.
    """
    if variants:
        raise TaskError(f"{task.id} has no variant {variants[0]!r}; omit --variant")
    return task
