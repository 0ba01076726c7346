"""A verdict in the terminal and in a trial's summary: with what has to be known of it."""

from __future__ import annotations

import io

from rich.console import Console

from trajectories.reading.summary import VerdictSummary
from trajectories.record.verdict import Case, Evaluator, Verdict
from trajectories.views.verdict import print_verdict

EVALUATOR = Evaluator(name="e", version="1")
CASES = (Case(id="g/a", group="g", status="missing"),)


def shown(verdict: Verdict) -> list[str]:
    out = io.StringIO()
    print_verdict(Console(file=out, width=200), verdict)
    return out.getvalue().splitlines()


def test_why_nothing_passed_and_what_kind_of_score_it_is() -> None:
    notes = ("compile_failed: gcc:\n\x1b[2J no such file", "not an official score: the image is local")
    verdict = Verdict(
        status="scored", passed=False, quality=0.0, cases=CASES, evaluator=EVALUATOR, isolation="none", notes=notes
    )
    *_, first, second = shown(verdict)
    assert first.startswith("note: compile_failed: gcc: ")
    assert "\x1b" not in first
    assert second == "note: not an official score: the image is local"
    assert VerdictSummary.of(verdict).notes == notes


def test_a_failed_evaluator_s_notes_follow_its_error() -> None:
    verdict = Verdict(status="error", evaluator=EVALUATOR, isolation="none", error="torn", notes=("left something",))
    assert shown(verdict) == ["no verdict: the evaluator failed: torn", "note: left something"]
