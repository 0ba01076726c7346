"""What an evaluator found out about a workspace.

A record type: evaluators (in `benchmarks`) make it, everything else reads it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Literal, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from trajectories.record.base import Words

CaseStatus = Literal["passed", "failed", "skipped", "error", "missing"]


class Case(BaseModel):
    """One test; only `passed` passes."""

    model_config = ConfigDict(frozen=True)

    id: str
    group: str
    status: CaseStatus
    seconds: float | None = None
    message: Words = ""


class GroupScore(BaseModel):
    """How many of a group's cases passed."""

    model_config = ConfigDict(frozen=True)

    passed: int
    total: int


class Evaluator(BaseModel):
    """Which evaluator, which version, and what went into it (digests, image, CPUs, ...)."""

    model_config = ConfigDict(frozen=True)

    name: str
    version: str
    inputs: dict[str, str] = Field(default_factory=dict)


class Verdict(BaseModel):
    """The result of one evaluation.

    `status` "error" means that the evaluator failed, which says nothing about the workspace: then
    `error` holds one line, and `passed` and `quality` are None. A workspace that does not build is
    "scored", with its cases missing. `quality` lies in [0, 1].
    """

    model_config = ConfigDict(frozen=True)

    status: Literal["scored", "error"]
    passed: bool | None = None
    quality: float | None = Field(default=None, ge=0, le=1)
    cases: tuple[Case, ...] = ()
    metrics: dict[str, float] = Field(default_factory=dict)
    evaluator: Evaluator
    isolation: Words
    seconds: float | None = None
    error: Words = ""
    notes: tuple[Words, ...] = ()

    @model_validator(mode="after")
    def _score_or_error(self) -> Self:
        scored = self.passed is not None and self.quality is not None
        if scored != (self.status == "scored"):
            raise ValueError("a verdict is either scored, with `passed` and `quality`, or an error without them")
        return self

    @property
    def groups(self) -> dict[str, GroupScore]:
        """Passed and total of each group, in order of first appearance."""
        total: Counter[str] = Counter(case.group for case in self.cases)
        passed: Counter[str] = Counter(case.group for case in self.cases if case.status == "passed")
        return {group: GroupScore(passed=passed[group], total=count) for group, count in total.items()}


def standing_verdict(verdicts: Iterable[Verdict | None]) -> Verdict | None:
    """Which of a trial's verdicts, in order, is its own: the last that was scored, else the last of all.

    A trial may be evaluated again; an evaluator that fails then takes nothing back.
    """
    standing: Verdict | None = None
    for verdict in verdicts:
        if verdict is not None and (verdict.status == "scored" or standing is None or standing.status == "error"):
            standing = verdict
    return standing
