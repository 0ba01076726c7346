"""Decides which child of a rollout runs next, and when enough have run. No I/O.

Children are started in rounds, one of each step, so that an interrupted rollout has all its steps equally often. The
plan is told of each start and each end. It allows several children at once; only a precision makes a round wait for
the end of the round before.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from scoring.interventions.rollouts import Stop
from scoring.statistics.intervals import wilson

FAILURES = 2
"""Number of children in a row, without a result for a reason of the infrastructure, that ends a run."""

_NOTHING_USD = 1e-9
"""Rest of a limit that is only a rounding error."""


@dataclass(frozen=True)
class Count:
    """Counted children of one step, and how many of them passed."""

    passed: int = 0
    counted: int = 0

    def plus(self, passed: bool) -> Count:
        """Return the count with one more child."""
        return Count(self.passed + passed, self.counted + 1)

    @property
    def half_width(self) -> float:
        """Half of the width of the 95 % Wilson interval; infinite without a child."""
        if not self.counted:
            return float("inf")
        low, high = wilson(self.passed, self.counted)
        return (high - low) / 2


@dataclass(frozen=True)
class Ended:
    """The end of a child that the plan had started."""

    step: int
    passed: bool | None
    """True or False if the child counts; None if it has no result."""
    cost_usd: float = 0.0
    """Its known cost."""
    interrupted: bool = False
    failed: bool = False
    """True if the machine, the provider or the evaluator failed."""


class RolloutPlan:
    """The children of one run: `times` at each step at most."""

    def __init__(
        self,
        steps: Sequence[int],
        times: int,
        *,
        before: Mapping[int, Count] | None = None,
        precision: float | None = None,
        cost_limit_usd: float | None = None,
    ) -> None:
        """`before` are the counts of earlier runs; they count towards the precision, but not towards `times`."""
        self._steps = tuple(steps)
        self._counts = {step: (before or {}).get(step, Count()) for step in self._steps}
        self._precision = precision
        self._limit_usd = cost_limit_usd
        self._spent_usd = 0.0
        self._ended = 0
        self._failures = 0
        self._stop: Stop | None = None
        self.started = 0
        """Number of children that were started."""
        self.planned = times * len(self._steps)
        """Number of children that are started at most."""

    @property
    def stopped(self) -> Stop | None:
        """Reason for which no further child starts; None while one may."""
        if self._stop is not None:
            return self._stop
        if self._is_between_rounds and self._is_precise:
            return "precision"
        if self.left_usd is not None and self.left_usd <= _NOTHING_USD:
            return "cost_limit"
        return "times" if self.started == self.planned else None

    @property
    def left_usd(self) -> float | None:
        """What the children may still cost together; None without a limit."""
        return None if self._limit_usd is None else self._limit_usd - self._spent_usd

    def next(self) -> int | None:
        """Return the step of the next child; None if none starts, or if one has to end first."""
        if self.stopped is not None or (self._begins_a_round and self._precision is not None and self._runs):
            return None
        return self._steps[self.started % len(self._steps)]

    def start(self) -> None:
        """Take in that the next child was started."""
        self.started += 1

    def end(self, child: Ended) -> None:
        """Take in the end of a child."""
        self._ended += 1
        self._spent_usd += child.cost_usd
        if child.passed is not None:
            self._counts[child.step] = self._counts[child.step].plus(child.passed)
        self._failures = self._failures + 1 if child.failed else 0
        if child.interrupted:
            self._stop = "interrupted"
        elif self._failures >= FAILURES:
            self._stop = self._stop or "infrastructure"

    def interrupt(self) -> None:
        """Start no further child."""
        self._stop = "interrupted"

    def least_half_width(self, step: int) -> float:
        """Return the smallest half-width that a step can reach, if all its children agree."""
        count = self._counts[step]
        times = self.planned // len(self._steps)
        results = (count.passed, count.passed + times)
        return min(Count(passed, count.counted + times).half_width for passed in results)

    @property
    def _runs(self) -> bool:
        return self._ended < self.started

    @property
    def _begins_a_round(self) -> bool:
        return self.started % len(self._steps) == 0

    @property
    def _is_between_rounds(self) -> bool:
        return self._begins_a_round and not self._runs

    @property
    def _is_precise(self) -> bool:
        precision = self._precision
        return precision is not None and all(count.half_width <= precision for count in self._counts.values())
