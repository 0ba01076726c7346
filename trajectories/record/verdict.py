"""The verdict of an evaluator on a workspace. Benchmarks make it, everything else reads it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Literal, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from trajectories.record.base import Words
from trajectories.record.words import Result, SubmissionKind

CaseStatus = Literal["passed", "failed", "skipped", "error", "missing"]


class Case(BaseModel):
    """The result of one test. Every status but `passed` counts as a failure."""

    model_config = ConfigDict(frozen=True)

    id: str
    """Id of the test, unique in its task."""
    group: str
    """Group of tests that it belongs to."""
    status: CaseStatus
    """Result of the test."""
    seconds: float | None = None
    """Time that the test took."""
    message: Words = ""
    """Message of a test that did not pass."""


class GroupScore(BaseModel):
    """Counts of a group of tests."""

    model_config = ConfigDict(frozen=True)

    passed: int
    """Number of tests that passed."""
    total: int
    """Number of all tests."""


VerdictCause = Literal[
    "build", "unpacking", "time", "output", "memory", "disk", "processes", "program", "result", "evaluator", "host"
]
"""Causes that decide a verdict in place of the tests.

All but `evaluator` and `host` are faults of the submission, whose verdict is `scored` with 0.
"""


NOT_BY_SUBMISSION: frozenset[VerdictCause] = frozenset({"evaluator", "host"})
"""Causes that no submission can bring about: their verdict is an `error`, which no score counts."""


class SystemChange(BaseModel):
    """A file outside of the workspace that the submission changed in the system that its tests run in."""

    model_config = ConfigDict(frozen=True)

    path: Words
    """Absolute path of the file."""
    kind: Literal["added", "changed", "deleted"]
    """Kind of the change."""
    reached_by: str = ""
    """Name of the mechanism that executes or imports the file later, for example `shell_startup` or `python_startup`.

    Empty if none is known.
    """


class Evaluator(BaseModel):
    """An evaluator, with everything that its result depends on."""

    model_config = ConfigDict(frozen=True)

    name: str
    """Name of the evaluator."""
    version: str
    """Version of the evaluator."""
    inputs: dict[str, str] = Field(default_factory=dict)
    """Inputs besides the workspace, for example digests of tests, the image, and the number of CPUs."""


class Verdict(BaseModel):
    """The result of one evaluation."""

    model_config = ConfigDict(frozen=True)

    status: Literal["scored", "error"]
    """`error` if the evaluator failed, which tells nothing about the workspace.

    A workspace that does not build is `scored`, with its cases missing.
    """
    cause: VerdictCause | None = None
    """Cause that decided in place of the tests. null if the tests decided, and in records before 1.2."""
    passed: bool | None = None
    """True if the task is solved. null after an error."""
    quality: float | None = Field(default=None, ge=0, le=1)
    """Quality of the workspace from 0 to 1. null after an error."""
    cases: tuple[Case, ...] = ()
    """Results of the single tests."""
    metrics: dict[str, float] = Field(default_factory=dict)
    """Further figures of the benchmark, by name."""
    evaluator: Evaluator
    """The evaluator that gave the verdict."""
    isolation: Words
    """Isolation of the workspace's programs during the evaluation, in words."""
    seconds: float | None = None
    """Time that the evaluation took."""
    error: Words = ""
    """Failure of the evaluator, in one line."""
    notes: tuple[Words, ...] = ()
    """Remarks of the evaluator, one line each."""
    changed: tuple[SystemChange, ...] | None = None
    """Unexpected changes outside of the workspace that nothing is known to execute or import later.

    At most 100 are listed, and a note gives the number of the others. null if nobody looked.
    """
    tampered: tuple[SystemChange, ...] | None = None
    """Changes outside of the workspace that something executes or imports later, so the tests may not be themselves.

    The score stays as the evaluator gave it. At most 100 are listed. Empty if there are none, null if nobody looked.
    """

    result: Result | None = None
    """What was judged. null before 2.2, when it was always the workspace."""
    submission: SubmissionKind | None = None
    """Form of the submission. null before 2.2, when it was always an archive."""
    processes_kept: bool | None = None
    """True if what the agent left running ran during the tests. null before 2.2."""
    exposed: tuple[Words, ...] = ()
    """What the submission could have tampered with, one line each: weaknesses of the benchmark's own way to judge."""
    comparable: bool | None = None
    """True if the score can be compared with published numbers. null if the benchmark has none, and before 2.2."""
    settings: dict[str, str] = Field(default_factory=dict)
    """Settings that changed the task for this evaluation: `overlay` (its digest), `test_timeout_multiplier`, and
    `base_image NAME` for each image that stood for another one. Empty before 2.2.
    """

    @model_validator(mode="after")
    def _score_or_error(self) -> Self:
        scored = self.passed is not None and self.quality is not None
        if scored != (self.status == "scored"):
            raise ValueError("a verdict is either scored, with `passed` and `quality`, or an error without them")
        if self.cause is not None and scored == (self.cause in NOT_BY_SUBMISSION):
            raise ValueError(f"the cause `{self.cause}` does not go with the status `{self.status}`")
        return self

    @property
    def groups(self) -> dict[str, GroupScore]:
        """Counts of each group, in the order in which the groups first appear."""
        total: Counter[str] = Counter(case.group for case in self.cases)
        passed: Counter[str] = Counter(case.group for case in self.cases if case.status == "passed")
        return {group: GroupScore(passed=passed[group], total=count) for group, count in total.items()}


def standing_verdict(verdicts: Iterable[Verdict | None]) -> Verdict | None:
    """Return the verdict that holds for a trial: the last one that was scored, otherwise the last of all.

    A trial may be evaluated again. If the evaluator fails then, the earlier verdict still holds.
    """
    standing: Verdict | None = None
    for verdict in verdicts:
        if verdict is not None and (verdict.status == "scored" or standing is None or standing.status == "error"):
            standing = verdict
    return standing
