"""The limits of a trial, checked against what it has used.

Pure: it is fed with events and asked with the time of the events' clock. Every worker stops by the same rules.
"""

from __future__ import annotations

from trajectories.reading.totals.tally import Tally
from trajectories.record.events import BaseEvent, Limits
from trajectories.record.exits import Exit
from trajectories.record.usage import Costs


class LimitCheck:
    """Counts what a trial uses and tells when a limit is reached."""

    def __init__(self, limits: Limits, budget_usd: float | None = None) -> None:
        """`budget_usd` is what is left of a budget of several trials. It is not a limit of the trial: one that uses it
        up is not evaluated, and can be resumed."""
        self.limits = limits
        self._budget_usd = budget_usd
        self._beside_usd = 0.0
        self.tally = Tally()

    def feed(self, event: BaseEvent) -> None:
        """Count one event. Every recorded event may be fed, in order."""
        self.tally.feed(event)

    def pay_beside(self, costs: Costs | None) -> None:
        """Count a role call, such as an expert's, in the budget. The limits of the trial are for the agent alone."""
        self._beside_usd += (costs and costs.best) or 0.0

    def reached(self, now_s: float) -> Exit | None:
        """Return the exit for the first limit that is reached, or None."""
        limits, tally = self.limits, self.tally
        if limits.steps is not None and tally.steps >= limits.steps:
            return Exit.of("steps", f"{tally.steps} of {limits.steps} steps")
        if limits.tokens is not None and tally.usage.total >= limits.tokens:
            return Exit.of("tokens", f"{tally.usage.total} of {limits.tokens} tokens")
        if limits.cost_usd is not None and tally.spent_usd >= limits.cost_usd:
            return Exit.of("cost", f"${tally.spent_usd:.4f} of ${limits.cost_usd:.4f}")
        if exit := self.out_of_time(now_s):
            return exit
        spent_usd = tally.spent_usd + self._beside_usd
        if self._budget_usd is not None and spent_usd >= self._budget_usd:
            return Exit.of("budget", f"${spent_usd:.4f} of the ${self._budget_usd:.4f} that were left")
        return None

    def out_of_time(self, now_s: float) -> Exit | None:
        """Return the exit for the time limit, or None while there is time left."""
        left = self.seconds_left(now_s)
        if left is None or left > 0:
            return None
        return Exit.of("time", f"{self.tally.wall_s(now_s):.1f} of {self.limits.time_s:g} s")

    def seconds_left(self, now_s: float) -> float | None:
        """Return the seconds until the time limit, not above 0 once it is reached; None without a time limit."""
        return None if self.limits.time_s is None else self.limits.time_s - self.tally.wall_s(now_s)

    def steps_left(self) -> int | None:
        """Return the number of calls until the step limit; None without a step limit."""
        return None if self.limits.steps is None else self.limits.steps - self.tally.steps

    def not_kept(self) -> list[str]:
        """Name the limits that cannot be kept any more, because the use of some call is unknown."""
        limits, tally = self.limits, self.tally
        names = ["token"] if limits.tokens is not None and tally.unmetered_calls else []
        bounded = limits.cost_usd is not None or self._budget_usd is not None
        return names + (["cost"] if bounded and tally.unpriced_calls else [])
