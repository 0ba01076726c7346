"""The state of an environment, as the harness sees it from outside while it waits for the supervisor."""

from __future__ import annotations

from typing import Protocol


class Health(Protocol):
    """Asked now and then while an answer is awaited."""

    def trouble(self) -> str | None:
        """Return in one line why the supervisor may not answer, or None if it seems to run."""

    def guard(self) -> None:
        """Check what an action must not exhaust. An exception ends the action, not the channel."""
