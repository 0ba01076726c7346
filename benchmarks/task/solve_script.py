"""A task's own solution in the form of a script, as the field's task directories have it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path


@dataclass(frozen=True)
class SolveScript:
    """A script that solves a task. Only `--model oracle` runs it, by commands of the ordinary loop."""

    source: Path
    """Directory or file with the solution; no image, workspace or suite contains it."""
    script: str
    """Bash that solves the task in the working directory. Its exit status is ignored, as the field's harnesses do."""
    directory: str | None = None
    """Absolute path of the directory in the environment that gets the source first; None if the script needs none."""
    env: Mapping[str, str] = field(default_factory=dict)
