"""The state of an environment, as the harness sees it from outside while it waits for the supervisor."""

from __future__ import annotations

from typing import Protocol

from environments.protocol import EnvironmentLost


class Health(Protocol):
    """Asked now and then while an answer is awaited."""

    def trouble(self) -> EnvironmentLost | None:
        """Return the reason for which the supervisor may not answer, not raised, or None if it seems to run."""

    def guard(self) -> None:
        """Check what an action must not exhaust. An exception ends the action, not the channel."""
