"""The error that scoring raises: one line that names the trial, the value and the way out."""

from __future__ import annotations

from trajectories.errors import RecordError


class ScoringError(RecordError):
    """Trials, a profile or tiers cannot be scored as requested."""
