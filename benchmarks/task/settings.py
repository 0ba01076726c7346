"""Settings that change how a task is run, but not its files. Each is recorded, and a resumed trial has it again."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path


@dataclass(frozen=True)
class TaskSettings:
    """Settings of a task; the defaults change nothing. A benchmark refuses those that it has no use for, by name."""

    overlay: Path | None = None
    """Directory whose files are added to the task's, or replace them. The verdict names it."""
    base_images: Mapping[str, str] = field(default_factory=dict)
    """Images to use in place of those that the task's Dockerfile names in FROM."""
    timeout_multiplier: float = 1.0
    """Factor of the task's own time limits for tests."""
    isolated: bool = False
    """Judge the committed image of a task whose result is the system, without any process of the agent."""

    @property
    def changed(self) -> tuple[str, ...]:
        """The options that change anything, as a user types them."""
        given = {
            "--overlay": self.overlay is not None,
            "--base-image": bool(self.base_images),
            "--test-timeout-multiplier": self.timeout_multiplier != 1.0,
            "--isolated-verifier": self.isolated,
        }
        return tuple(option for option, is_given in given.items() if is_given)


UNCHANGED = TaskSettings()
"""Settings that change nothing."""
