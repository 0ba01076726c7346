"""The number of calls in flight at one provider: more while it answers, half as many when it refuses one.

Pure, with the time as an argument. The rule is that of TCP's congestion control (RFC 5681): slow start doubles the
limit each round, a 429 halves it, and from then on it grows by one each round. A Retry-After stops all calls until its
time.
"""

from __future__ import annotations

from dataclasses import dataclass

FIRST_LIMIT = 16
"""Calls in flight at the beginning."""
SMALLEST_LIMIT = 1
REFUSALS = (429, 529)
"""HTTP statuses by which a provider asks for fewer calls: too many requests, and Anthropic's overloaded."""


@dataclass
class Provider:
    """The calls in flight at one provider, and their limit."""

    limit: float = FIRST_LIMIT
    in_flight: int = 0
    peak: int = 0
    """Largest number of calls in flight since the last halving. The limit does not grow beyond twice of it."""
    halved_at_s: float = float("-inf")
    """Time of the last halving: only calls that left after it can cause another one."""
    slow_start: bool = True
    closed_until_s: float = float("-inf")
    """Time until which the provider asked for no calls."""

    def may_send(self, now_s: float) -> bool:
        """Report if one more call may leave."""
        return now_s >= self.closed_until_s and self.in_flight < max(SMALLEST_LIMIT, int(self.limit))

    def sent(self) -> None:
        """Count a call that leaves."""
        self.in_flight += 1
        self.peak = max(self.peak, self.in_flight)

    def ended(
        self, sent_at_s: float, now_s: float, *, status: int | None = None, retry_after_s: float | None = None
    ) -> None:
        """Take in the end of a call that left at `sent_at_s`; `status` is that of a failure."""
        self.in_flight -= 1
        if status in REFUSALS:
            if sent_at_s > self.halved_at_s:
                self.limit = max(float(SMALLEST_LIMIT), self.limit / 2)
                self.halved_at_s, self.slow_start = now_s, False
                self.peak = self.in_flight
            if retry_after_s is not None:
                self.closed_until_s = max(self.closed_until_s, now_s + retry_after_s)
        elif status is None and self.limit < 2 * self.peak:  # a limit that is not used tells nothing
            self.limit += 1.0 if self.slow_start else 1.0 / max(1.0, self.limit)


def provider_of(model: str) -> str:
    """Return the provider of a litellm name, which shares one limit: the part before the slash, or the name itself."""
    return model.partition("/")[0]
