"""Everything that is shown of a batch while it runs, as one value, and the contract of a view that shows it.

The coordinator makes a `BatchState` about once a second; `agent batch status` makes one from the folder alone. The
views are in `agent.cli.progress.batches`.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from types import TracebackType
from typing import Any, Literal, Self

from scoring.statistics.intervals import LEVEL, wilson
from trajectories.batches.events import Holder

WINDOW_S = 120.0
"""Length of the moving window in which calls and tokens are counted, in seconds."""

Phase = Literal["running", "stopping", "interrupted", "finished", "waiting", "lost"]
"""Phases of a batch: a coordinator hands out units, or only waits for the running ones, or has ended: interrupted,
with every unit done, or with units left that wait for a budget or a model. `lost`: the coordinator died."""


@dataclass(frozen=True)
class RunningUnit:
    """A unit that a worker works on."""

    trial: str
    """Name of the folder of its trial."""
    arm: str
    steps: int
    phase: str = "working"
    """In a word: starting, working, waiting, evaluating."""
    seconds: float | None = None
    """Time since the worker began with it; None if that is not known."""
    node: str | None = None
    """Host that it runs on, if it is not the coordinator's."""


@dataclass(frozen=True, kw_only=True)
class BatchState:
    """A batch at one moment. None is unknown, or not limited.

    Every unit is counted once: `units` = `done` + running + `waiting` + failed.
    """

    name: str
    """Name of the batch."""
    units: int
    done: int = 0
    """Units that have ended as planned, evaluated or not."""
    waiting: int = 0
    """Units that are not begun, or that were interrupted and will be resumed, `held` ones included."""
    held: Mapping[str, int] = field(default_factory=dict)
    """Waiting units that cannot go on by themselves, by reason: a budget, a model that is not available."""
    failed: Mapping[str, int] = field(default_factory=dict)
    """Units that have failed for good, by cause."""
    running: Sequence[RunningUnit] = ()
    passed: int = 0
    judged: int = 0
    """Units with a score; `passed` of them passed."""
    unevaluated: int = 0
    """Done units without a verdict, for example after --no-evaluate."""
    reruns: int = 0
    """Resumes and new starts after infrastructure failures, of all units together."""
    spent_usd: float = 0.0
    """Known cost of all calls."""
    reserved_usd: float = 0.0
    """Largest cost of the calls in flight, and of those that may have been billed."""
    budget_usd: float | None = None
    unpriced_calls: int = 0
    """Calls whose cost is unknown, so that `spent_usd` is a lower bound."""
    tokens: int = 0
    reserved_tokens: int = 0
    budget_tokens: int | None = None
    calls: int = 0
    calls_per_minute: float | None = None
    tokens_per_minute: float | None = None
    cache_hit_rate: float | None = None
    """Share of all prompt tokens that were read from the cache."""
    elapsed_s: float | None = None
    """Time since this coordinator began."""
    left_s: float | None = None
    """Estimated time until no unit runs or waits (`time_left`)."""
    phase: Phase = "running"
    coordinator: Holder | None = None
    """Process that owns the batch, or owned it last."""

    @property
    def failures(self) -> int:
        """Number of units that have failed for good."""
        return sum(self.failed.values())

    @property
    def pass_rate_interval(self) -> tuple[float, float] | None:
        """Wilson's interval of the pass rate, as if units were independent; None without a score."""
        return wilson(self.passed, self.judged, LEVEL) if self.judged else None

    def json(self) -> dict[str, Any]:
        """Return the state for `--json`: all fields, and the pass rate with its interval."""
        low, high = self.pass_rate_interval or (None, None)
        return {
            **{field.name: getattr(self, field.name) for field in fields(self)},
            "held": dict(self.held),
            "failed": dict(self.failed),
            "running": [asdict(unit) for unit in self.running],
            "coordinator": None if self.coordinator is None else self.coordinator.model_dump(),
            "pass_rate": self.passed / self.judged if self.judged else None,
            "pass_rate_low": low,
            "pass_rate_high": high,
        }


class BatchView:
    """A view of a batch while its context is open. This one shows nothing; subclasses override what they show."""

    def __enter__(self) -> Self:
        """Begin to show the batch."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """End the view, with the last state in full."""

    def show(self, state: BatchState) -> None:
        """Show the newest state. Never waits for a terminal."""

    def note(self, line: str) -> None:
        """Show a line that stays: a lost worker, a unit that failed, what Ctrl-C does now."""


class Pace:
    """Calls and tokens a minute, over a moving window. Times are those of one monotonic clock."""

    def __init__(self, began: float, window_s: float = WINDOW_S) -> None:
        self._began, self._window_s = began, window_s
        self._calls: deque[tuple[float, int]] = deque()
        self._tokens = 0

    def add(self, at: float, tokens: int | None) -> None:
        """Count a call that ended at this time, with its tokens if they are known."""
        self._calls.append((at, tokens or 0))
        self._tokens += tokens or 0

    def per_minute(self, now: float) -> tuple[float, float]:
        """Return the calls and the tokens a minute, in the window that ends now."""
        while self._calls and self._calls[0][0] <= now - self._window_s:
            self._tokens -= self._calls.popleft()[1]
        seconds = min(self._window_s, max(1.0, now - self._began))
        return 60 * len(self._calls) / seconds, 60 * self._tokens / seconds


def time_left(durations: Sequence[float], running: Sequence[float], waiting: int, slots: int) -> float | None:
    """Estimate the seconds until nothing runs or waits; None before a unit has ended.

    `durations` are those of ended units, `running` the times that running ones have run for. A running unit takes as
    long as ended units that took longer did on average, and none is over before it is. The rest of the work is shared
    by the `slots`, and the last unit may be the longest.
    """
    if not durations or slots < 1:
        return None
    mean = sum(durations) / len(durations)
    rests = [_rest(durations, seconds) for seconds in running]
    work = sum(rests) + waiting * mean
    return max([work / slots, *rests, *[mean] * bool(waiting)])


def _rest(durations: Sequence[float], seconds: float) -> float:
    longer = [duration - seconds for duration in durations if duration > seconds]
    return sum(longer) / len(longer) if longer else 0.0
