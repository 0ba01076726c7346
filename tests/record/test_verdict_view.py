"""A verdict in the terminal and in a trial's summary: with what has to be known of it."""

from __future__ import annotations

import io
from typing import get_args

import pytest
from pydantic import ValidationError
from rich.console import Console

from trajectories.reading.summary import VerdictSummary
from trajectories.record.verdict import (
    NOT_BY_SUBMISSION,
    Case,
    Evaluator,
    SystemChange,
    Verdict,
    VerdictCause,
)
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


def test_a_changed_system_is_shown_with_what_reaches_it() -> None:
    shell = SystemChange(path="/etc/profile.d/\x1b[2J.sh", kind="added", reached_by="shell_startup")
    other = [SystemChange(path=f"/opt/{number}", kind="deleted") for number in range(7)]
    verdict = Verdict(
        status="scored",
        passed=True,
        quality=1.0,
        evaluator=EVALUATOR,
        isolation="none",
        tampered=(shell,),
        changed=tuple(other),
    )
    *_, tampered, changed = shown(verdict)
    assert tampered == (
        "tampered: the submission changed what the tests execute or import: /etc/profile.d/\u241b[2J.sh (shell startup)"
    )
    assert changed.endswith("/opt/3 (deleted), /opt/4 (deleted), and 2 more paths")
    assert VerdictSummary.of(verdict).tampered == (shell,)
    assert Verdict.model_validate_json(verdict.model_dump_json()) == verdict


@pytest.mark.parametrize("cause", get_args(VerdictCause))
def test_a_submission_s_fault_is_scored_and_only_a_foreign_one_is_an_error(cause: VerdictCause) -> None:
    def verdict(*, scored: bool) -> Verdict:
        score = {"status": "scored", "passed": False, "quality": 0.0} if scored else {"status": "error"}
        return Verdict.model_validate(
            {**score, "cause": cause, "evaluator": EVALUATOR.model_dump(), "isolation": "none"}
        )

    foreign = cause in NOT_BY_SUBMISSION
    assert verdict(scored=not foreign).cause == cause
    with pytest.raises(ValidationError, match="does not go with"):
        verdict(scored=foreign)


def test_a_verdict_of_an_earlier_schema_says_that_nobody_looked() -> None:
    verdict = Verdict.model_validate(
        {"status": "error", "evaluator": {"name": "e", "version": "1"}, "isolation": "none"}
    )
    assert (verdict.cause, verdict.changed, verdict.tampered) == (None, None, None)
