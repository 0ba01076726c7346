"""The verdict on a trial or a workspace as `--json` prints it: with the cases that failed, up to a number."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from trajectories.reading.summary import VerdictSummary
from trajectories.record.events import Evaluated, Event
from trajectories.record.verdict import Case, Verdict, standing_verdict

LISTED = 100
"""Largest number of failed cases that a report lists."""


class VerdictReport(VerdictSummary):
    """A verdict with the first cases that failed."""

    cases_total: int
    """Number of all cases."""
    failed_cases: tuple[Case, ...]
    """The first 100 cases that did not pass, those that ran before those that did not."""
    file: str | None
    """The file with all cases; None if they are not kept."""

    @classmethod
    def with_cases(cls, verdict: Verdict, file: Path | None) -> VerdictReport:
        """Return the report on a verdict; `file` holds all its cases."""
        return cls(
            **dict(VerdictSummary.of(verdict)),
            cases_total=len(verdict.cases),
            failed_cases=tuple(failed_cases(verdict)[:LISTED]),
            file=None if file is None else str(file),
        )


def failed_cases(verdict: Verdict) -> list[Case]:
    """Return the cases that did not pass: first those that ran, then those that did not, each in their order."""
    failed = [case for case in verdict.cases if case.status != "passed"]
    return sorted(failed, key=lambda case: case.status == "missing")


def verdict_of(events: Iterable[Event]) -> Verdict | None:
    """Return the verdict that holds for the trial with these events, or None if there is none."""
    return standing_verdict(event.verdict for event in events if isinstance(event, Evaluated))
