"""Words for the way in which a score came about, by which trials that were judged differently are kept apart."""

from __future__ import annotations

from trajectories.reading.summary import VerdictSummary


def judged_as(verdict: VerdictSummary) -> str:
    """Return how a score came about; before schema 2.2 it was always that of an exported workspace."""
    words = [verdict.result or "workspace", verdict.submission or "archive"]
    way = "-".join(words + ["not-comparable"] * (verdict.comparable is False))
    settings = sorted((verdict.settings or {}).items())
    return " ".join([way, *(_setting(name, value) for name, value in settings)])


def _setting(name: str, value: str) -> str:
    return f"{name.replace(' ', ':')}={value[:12] if name == 'overlay' else value}"
