"""The result of a trial, in the forms in which a benchmark can judge it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from environments.protocol import Environment, Started
from trajectories.record.words import SubmissionKind


@dataclass(frozen=True)
class Archive:
    """An exported workspace, which is judged in an environment of its own."""

    kind: ClassVar[SubmissionKind] = "archive"
    path: Path
    """A tar.zst; its paths are relative to the workspace."""


@dataclass(frozen=True)
class Image:
    """The image that a container was committed as: all of its files, and none of its processes."""

    kind: ClassVar[SubmissionKind] = "image"
    reference: str


@dataclass(frozen=True)
class Live:
    """The environment in which the agent worked, with everything that it left running.

    It was committed before. Whoever hands it over releases it.
    """

    kind: ClassVar[SubmissionKind] = "live"
    environment: Environment
    started: Started
    image: str
    """Reference of the image that it was committed as."""
    changed: Callable[[], tuple[str, ...]] | None = None
    """Waits for the lines about what the agent changed in the system, and returns them; None if nobody looks yet."""


Submission = Archive | Image | Live
