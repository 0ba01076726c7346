"""The result of running a trial, beside its record."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from trajectories.record.exits import Exit
from trajectories.record.verdict import Verdict

INTERRUPTED = "interrupted by the user"
"""Reason for a missing workspace or verdict."""


@dataclass
class Outcome:
    """The end of a trial. Each step of `run_trial` fills in its part."""

    directory: Path
    exit: Exit
    steps: int = 0
    """Number of steps that the record holds."""
    interrupted: bool = False
    """True also if the user interrupted only the export or the evaluation."""
    evaluator_failed: bool = False
    """True if the trial should have a score and has none."""
    verdict: Verdict | None = None
    chain_stopped: bool = False
    """True if this is a turn, and the next one should have begun and could not."""

    @property
    def came_to_its_end(self) -> bool:
        """Report if the agent or a limit ended the trial, and nothing was interrupted since."""
        return self.exit.reason in ("agent", "limit") and not self.interrupted
