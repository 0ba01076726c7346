"""Stages: the parts of a task that are worked on one after the other in one environment.

Each has an instruction, limits and a verdict of its own. The trials at them form a chain.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks.task.solve_script import SolveScript
from trajectories.record.events import Limits


@dataclass(frozen=True)
class Stage:
    """One stage of a task: what differs from the other ones."""

    name: str
    instruction: str
    limits: Limits = Limits()
    solution: Path | None = None
    """See `Task.solution`."""
    solve: SolveScript | None = None
    """See `Task.solve`."""
    gate: Mapping[str, float] = field(default_factory=dict)
    """Least values of metrics of its verdict: the later stages are left out if one of them is lower or missing."""

    @property
    def reference(self) -> Path | None:
        """See `Task.reference`."""
        return self.solve.source if self.solve is not None else self.solution
