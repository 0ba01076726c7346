"""Numbers, clocks and positions of events: none is missing, repeated, back in time, or after the end."""

from __future__ import annotations

import math
from collections.abc import Iterator
from datetime import datetime

from trajectories.record.events import Event, Exited, Paused, Resumed, TrialStarted

_AFTER_EXIT = frozenset(
    {
        "workspace_exported",
        "evaluation_started",
        "evaluation",
        "warning",
        "paused",
        "resumed",
        "env_started",
        "snapshot",
        "checkpoint",
        "panel_started",
        "role_call_started",
        "role_call_finished",
        "vote",
    }
)


class Order:
    """Rule `order`."""

    name = "order"

    def __init__(self) -> None:
        self._seq = -1
        self._mono_s = 0.0
        self._exited = False
        self._imported = False
        self._resumable = False
        """True if the exit was not the agent's own, so that the trial may be resumed after it."""

    def feed(self, event: Event) -> Iterator[str]:
        expected = self._seq + 1
        if event.seq > expected:
            yield f"sequence gap: seq {event.seq} instead of {expected}"
        elif event.seq < expected:
            yield f"sequence repeat: seq {event.seq} instead of {expected}"
        self._seq = event.seq if event.seq >= 0 else expected
        if isinstance(event, TrialStarted) and expected > 0:
            yield "a second trial_started"
        if isinstance(event, TrialStarted):
            self._imported = event.imported is not None
        yield from self._times(event)
        if self._exited and isinstance(event, Exited):
            yield "a second exit"
        elif self._exited and type(event).__name__ != "Unknown" and event.type not in _AFTER_EXIT:
            yield f"{event.type} after the exit"
        if isinstance(event, Exited):
            self._exited, self._resumable = True, event.exit.reason in ("user", "infrastructure")
        elif isinstance(event, Paused | Resumed) and self._resumable:
            self._exited = False

    def end(self) -> Iterator[str]:
        return iter(())

    def _times(self, event: Event) -> Iterator[str]:
        for name, value in event:
            if isinstance(value, float) and not (math.isfinite(value) and value >= 0):
                yield f"{name} is {value}"
        if event.mono_s < self._mono_s:
            yield f"time runs backwards: mono_s {event.mono_s:g} after {self._mono_s:g}"
        if math.isfinite(event.mono_s):
            self._mono_s = event.mono_s
        if self._imported and not event.t:  # its file has no time
            return
        try:
            zone = datetime.fromisoformat(event.t).utcoffset()
        except ValueError:
            zone = None
        if zone is None or zone.total_seconds() != 0:
            yield f"t {event.t[:60]!r} is not a time in UTC"
