"""The policy for retries of failed calls: which failures are tried again, and after which wait.

The waits span minutes, because rate limits do; a provider's Retry-After is obeyed. Failures that another try cannot
remedy are final. The module is pure: the caller does the waiting.
"""

from __future__ import annotations

import random
import zlib
from dataclasses import dataclass, field

from agent.models.protocol import CallFailure
from trajectories.record.events import FailureClass

RETRIED: frozenset[FailureClass] = frozenset({"rate_limit", "server_error", "timeout", "connection", "malformed"})


@dataclass(frozen=True)
class RetryPolicy:
    """Exponential back-off with jitter; with the defaults, ten tries wait about 10 minutes in total."""

    tries: int = 10
    """Maximum number of tries of one call, including the first."""
    first_wait_s: float = 2.0
    factor: float = 2.0
    max_wait_s: float = 120.0
    jitter: float = 0.2
    """Maximum share by which a wait is prolonged, so that parallel trials do not try again at the same moment."""
    seed: float = field(default_factory=random.random)
    """Seed of the jitter: the same seed and failure give the same wait."""
    max_retry_after_s: float = 3600.0
    """Longest Retry-After that is obeyed; a provider that asks for more ends the call."""

    def wait_s(self, failure: CallFailure, try_: int) -> float | None:
        """Return the seconds to wait after the failed try number `try_` (from 1); None if there is no further try."""
        if failure.error not in RETRIED or try_ >= self.tries:
            return None
        backoff = min(self.first_wait_s * self.factor ** (try_ - 1), self.max_wait_s)
        wait = backoff * (1 + self.jitter * self._spread(failure.detail, try_))
        if failure.retry_after_s is None:
            return wait
        if failure.retry_after_s > self.max_retry_after_s:
            return None
        return max(wait, failure.retry_after_s)

    def _spread(self, detail: str, try_: int) -> float:
        """Return a reproducible number in [0, 1)."""
        return (zlib.crc32(f"{self.seed} {try_} {detail}".encode("utf-8", "replace")) % 1000) / 1000
