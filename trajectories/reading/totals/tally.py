"""The running totals of a trial: steps, commands, tokens, dollars and time, event by event.

Limits, the progress view and the summary use the same totals. A call without a known outcome makes the costs unknown,
never smaller.
"""

from __future__ import annotations

from trajectories.record.events import (
    ActionStarted,
    BaseEvent,
    CallFailed,
    CallFinished,
    CallStarted,
    Exited,
    FailureClass,
    Paused,
    Resumed,
)
from trajectories.record.usage import Costs, Usage

MAYBE_BILLED: frozenset[FailureClass] = frozenset({"timeout", "connection", "malformed", "interrupted"})
"""Failures after which the provider may still have billed the call."""
_NOTHING = Costs(billed=0.0, computed=0.0, list=0.0)


class Tally:
    """The totals over all events that were fed, in order. Each event costs the same work."""

    def __init__(self) -> None:
        self.steps = 0
        self.commands = 0
        """Number of commands that were started, also one during which the trial ended."""
        self.failed_calls = 0
        self.usage = Usage()
        self.spent_usd = 0.0
        """Cost so far: billed if the provider reports it, otherwise computed. `unpriced_calls` are not in it."""
        self._costs = _NOTHING
        self._unpriced = 0
        self._unmetered = 0
        self._in_flight: set[str | None] = set()
        """Threads whose last call has no outcome."""
        self._first_call_s: float | None = None
        self._exit_s: float | None = None
        self._paused_s: float | None = None
        self._down_s = 0.0
        self._waits_s = 0.0
        self._wait: tuple[float, float] | None = None
        """Begin and longest duration of the wait for the next try, if the trial waits."""

    @property
    def costs(self) -> Costs:
        """Costs of all calls. A kind is None if it is unknown for any call, also for one without an outcome."""
        return Costs.sum((self._costs, Costs())) if self._in_flight else self._costs

    @property
    def unpriced_calls(self) -> int:
        """Number of calls whose cost is unknown."""
        return self._unpriced + len(self._in_flight)

    @property
    def unmetered_calls(self) -> int:
        """Number of calls whose usage is unknown."""
        return self._unmetered + len(self._in_flight)

    def feed(self, event: BaseEvent) -> None:
        """Take in one event."""
        if self._wait is not None:
            self._waits_s += self._waited_s(event.mono_s)
            self._wait = None
        match event:
            case CallStarted():
                if event.thread in self._in_flight:  # the previous call was lost with its process
                    self._meter(None, Costs())
                self._in_flight.add(event.thread)
                if self._first_call_s is None:
                    self._first_call_s = event.mono_s
            case CallFinished():
                self._in_flight.discard(event.thread)
                self.steps += 1
                self._meter(event.usage, event.costs)
            case CallFailed():
                self._in_flight.discard(event.thread)
                self.failed_calls += 1
                self._waits_s += event.latency_s or 0.0
                self._wait = (event.mono_s, event.wait_s)
                if event.usage is not None or event.costs is not None or event.error in MAYBE_BILLED:
                    self._meter(event.usage, event.costs or Costs())
            case ActionStarted():
                self.commands += 1
            case Paused() if self._paused_s is None:
                self._paused_s = event.mono_s if self._exit_s is None else self._exit_s
            case Resumed():
                if self._paused_s is not None and self._first_call_s is not None:
                    self._down_s += event.mono_s - self._paused_s
                self._paused_s = None
                self._exit_s = None
            case Exited():
                self._exit_s = event.mono_s

    def wall_s(self, now_s: float | None = None) -> float:
        """Return the seconds from the first call to the exit, or to `now_s`, without pauses."""
        if self._first_call_s is None:
            return 0.0
        end = self._exit_s if self._exit_s is not None else now_s
        if end is None:
            end = self._first_call_s
        if self._paused_s is not None:
            end = min(end, self._paused_s)
        return max(0.0, end - self._first_call_s - self._down_s)

    def working_s(self, now_s: float | None = None) -> float:
        """Return the same time without failed tries and the waits after them."""
        waiting = 0.0 if now_s is None else self._waited_s(now_s)
        return max(0.0, self.wall_s(now_s) - self._waits_s - waiting)

    def _waited_s(self, now_s: float) -> float:
        return 0.0 if self._wait is None else max(0.0, min(self._wait[1], now_s - self._wait[0]))

    def _meter(self, usage: Usage | None, costs: Costs) -> None:
        if usage is None:
            self._unmetered += 1
        else:
            self.usage = Usage.sum((self.usage, usage))
        self._costs = Costs.sum((self._costs, costs))
        if costs.best is None:
            self._unpriced += 1
        else:
            self.spent_usd += costs.best
