"""The verdict of an evaluator on a workspace. Benchmarks make it, everything else reads it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Literal, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from trajectories.record.base import Words

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

    @model_validator(mode="after")
    def _score_or_error(self) -> Self:
        scored = self.passed is not None and self.quality is not None
        if scored != (self.status == "scored"):
            raise ValueError("a verdict is either scored, with `passed` and `quality`, or an error without them")
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
