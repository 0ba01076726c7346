"""The newest facts about a running trial, from its events: everything that a view shows."""

from __future__ import annotations

import time
from collections.abc import Iterable

from trajectories.reading.tally import Tally
from trajectories.record.events import (
    ActionFinished,
    ActionStarted,
    BaseEvent,
    CallFailed,
    CallFinished,
    CallStarted,
    EnvStarted,
    EvaluationStarted,
    Exited,
    Limits,
    Snapshot,
    Warned,
)
from trajectories.record.text import printable

_COMMAND_WIDTH = 100


class ProgressState:
    """The phase of a trial, its newest command with its result, the newest warning, and what it has used."""

    def __init__(self, limits: Limits, before: Iterable[BaseEvent] = ()) -> None:
        self.phase = "starting"
        self.command = ""
        self.result = ""
        self.warning = ""
        self._limits = limits
        self._tally = Tally()
        for event in before:
            self._tally.feed(event)
        self._event_s = 0.0
        self._fed_at = time.monotonic()

    def feed(self, event: BaseEvent) -> None:
        """Take over the facts of an event."""
        self._tally.feed(event)
        self._event_s, self._fed_at = event.mono_s, time.monotonic()
        match event:
            case EnvStarted():
                self.phase = f"{event.kind} started in {event.seconds:.1f} s"
            case CallStarted():
                self.phase = f"step {event.step}: waiting for the model"
            case CallFailed():
                retry = f"; next try in {event.wait_s:.0f} s" if event.retry else ""
                self.warning = f"call failed: {event.error}: {printable(event.detail)}{retry}"
            case CallFinished():
                self.warning = ""
            case ActionStarted():
                self.phase = f"step {event.step}: running"
                self.command, self.result = _on_one_line(event.script), ""
            case ActionFinished():
                self.result = _result(event)
            case Snapshot(complete=False):
                self.warning = f"the snapshot of step {event.step} is not whole: {printable(event.why_incomplete)}"
            case Warned():
                label = "not restored: " if event.kind == "not_restored" else ""
                self.warning = printable(f"{label}{event.text}")
            case Exited():
                detail = f" ({printable(event.exit.detail)})" if event.exit.detail else ""
                self.phase = f"exit: {event.exit}{detail}"
            case EvaluationStarted():
                self.phase = "evaluating"

    def budget(self) -> str:
        """Return the part of each limit that is used."""
        limits, tally = self._limits, self._tally
        wall_s = tally.wall_s(self._event_s + time.monotonic() - self._fed_at)
        parts = [
            _used("step", tally.steps, limits.steps),
            _used("time", _clock(wall_s), None if limits.time_s is None else _clock(limits.time_s)),
            _used("tokens", f"{tally.usage.total:,}", None if limits.tokens is None else f"{limits.tokens:,}"),
            _used("cost", self.cost(), None if limits.cost_usd is None else f"${limits.cost_usd:.2f}"),
        ]
        return "   ".join(parts)

    def cost(self) -> str:
        """Return the dollars spent so far; a lower bound is marked as such."""
        bound = "at least " if self._tally.unpriced_calls else ""
        return f"{bound}${self._tally.spent_usd:.4f}"


def _on_one_line(script: str) -> str:
    """Return the beginning of a script on one line, safe for a terminal."""
    text = printable(" ".join(script.split()))
    return text if len(text) <= _COMMAND_WIDTH else text[: _COMMAND_WIDTH - 3] + "..."


def _result(event: ActionFinished) -> str:
    """Return the end of an action in a few words."""
    if event.ended != "exited":
        return f"{event.ended} after {event.duration_s or 0.0:.1f} s"
    status = f"signal {event.signal}" if event.signal is not None else f"exit {event.exit_code}"
    return f"{status}, {event.duration_s or 0.0:.1f} s"


def _used(name: str, used: object, limit: object | None) -> str:
    return f"{name} {used}" if limit is None else f"{name} {used} of {limit}"


def _clock(seconds: float) -> str:
    minutes, rest = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{rest:02d}"
