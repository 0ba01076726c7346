"""What a trial has used so far: steps, commands, tokens, dollars and time, event by event.

The loop checks limits against it, the progress view shows it, the summary prints it: one count.
"""

from __future__ import annotations

from trajectories.events import (
    ActionFinished,
    BaseEvent,
    CallFailed,
    CallFinished,
    CallStarted,
    Exited,
    Paused,
    Resumed,
)
from trajectories.usage import Costs, Usage


class Tally:
    """Feed it every event in order; constant work each."""

    def __init__(self) -> None:
        self.steps = 0
        self.commands = 0
        self.calls = 0
        self.failed_calls = 0
        self.usage = Usage()
        self.costs = Costs(billed=0.0, computed=0.0, list=0.0)
        self.spent_usd = 0.0
        """Billed where a provider says it, else computed; a lower bound while `unpriced_calls`."""
        self.unpriced_calls = 0
        self.unmetered_calls = 0
        """Calls whose usage nobody knows."""
        self._first_call_s: float | None = None
        self._exit_s: float | None = None
        self._paused_s: float | None = None
        self._down_s = 0.0
        self._waits_s = 0.0

    def feed(self, event: BaseEvent) -> None:
        """Count one event."""
        match event:
            case CallStarted():
                self.calls += 1
                if self._first_call_s is None:
                    self._first_call_s = event.mono_s
            case CallFinished():
                self.steps += 1
                self._meter(event.usage, event.costs)
            case CallFailed():
                self.failed_calls += 1
                self._waits_s += event.latency_s + event.wait_s
                if event.usage is not None or event.costs is not None:
                    self._meter(event.usage, event.costs or Costs())
            case ActionFinished():
                self.commands += 1
            case Paused():
                self._paused_s = event.mono_s
            case Resumed():
                if self._paused_s is not None:
                    self._down_s += event.mono_s - self._paused_s
                    self._paused_s = None
            case Exited():
                self._exit_s = event.mono_s

    def wall_s(self, now_s: float | None = None) -> float:
        """Seconds from the first call to the exit (else to `now_s`), without the clock's pauses."""
        if self._first_call_s is None:
            return 0.0
        end = self._exit_s if self._exit_s is not None else now_s
        if end is None:
            end = self._first_call_s
        if self._paused_s is not None:
            end = min(end, self._paused_s)
        return max(0.0, end - self._first_call_s - self._down_s)

    def working_s(self, now_s: float | None = None) -> float:
        """The same without what was spent on failed tries and on waiting for the next."""
        return max(0.0, self.wall_s(now_s) - self._waits_s)

    def _meter(self, usage: Usage | None, costs: Costs) -> None:
        if usage is None:
            self.unmetered_calls += 1
        else:
            self.usage = Usage.sum((self.usage, usage))
        self.costs = Costs.sum((self.costs, costs))
        if costs.best is None:
            self.unpriced_calls += 1
        else:
            self.spent_usd += costs.best
