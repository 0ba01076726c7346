"""The money and the stop flag that all role calls of one command share."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field

from trajectories.record.usage import Costs
from trajectories.waiting import Event


@dataclass
class RoleBudget:
    """Costs of role calls, in US dollars, against a limit. Shared by threads."""

    limit_usd: float | None = None
    spent_usd: float = 0.0
    """As far as known."""
    unpriced: int = 0
    """Number of requests that may have been billed, at an unknown cost."""
    stop: Event = field(default_factory=Event)
    """Set when the user interrupts."""
    _lock: threading.Lock = field(default_factory=threading.Lock)

    @property
    def is_spent(self) -> bool:
        """Report if the limit is reached."""
        return self.limit_usd is not None and self.spent_usd >= self.limit_usd

    def may_ask(self) -> bool:
        """Report if another request may leave. The costs of requests under way are not known yet."""
        with self._lock:
            return not self.stop.is_set() and not self.is_spent

    def pay(self, costs: Costs | None) -> None:
        """Count one request."""
        if costs is None:
            return
        with self._lock:
            self.unpriced += costs.best is None
            self.spent_usd += costs.best or 0.0
