"""Feedback that gives hidden tests away: it must be asked for, and the record of every trial that had it says so."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from agent.continuation.fork import fork
from agent.loop.actions import SUBMIT
from tests.solve.chains import A_PART, folders, make_task, messages, solve
from trajectories.checks.check import check
from trajectories.reading.reader import first_event

pytestmark = pytest.mark.sandbox
TWO = ("--self-correct", "2")


@pytest.fixture
def work(tmp_path: Path) -> Path:
    make_task(tmp_path, evaluation=", feedback: [scores]")
    return tmp_path


def revealed(trial: Path) -> bool:
    assert check(trial).first is None
    return first_event(trial).tests_revealed


def test_the_usual_feedback_of_a_task_with_hidden_tests_names_none(work: Path) -> None:
    first, second = folders(solve(work, A_PART, SUBMIT, options=TWO))
    (text,) = messages(second, "feedback")
    assert "group 1: 1 of 2 tests passed" in text
    assert "test_two" not in text
    assert not revealed(first)
    assert not revealed(second)


def test_revealed_tests_are_in_the_record_of_the_chain_and_of_what_was_forked_from_it(work: Path) -> None:
    options = (*TWO, "--feedback", "output", "--reveal-tests")
    first, second = folders(solve(work, A_PART, SUBMIT, options=options))
    assert "test_two" in messages(second, "feedback")[0]
    assert revealed(first)
    assert revealed(second)

    order, child = fork(second, 1)
    assert child.first_event(order).tests_revealed
    of_child = replace(child, standing=replace(child.standing, start=child.first_event(order)))
    assert of_child.first_event(order).tests_revealed
    order, of_first = fork(first, 1)
    assert not of_first.first_event(order).tests_revealed


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--feedback", "failing"), "add --reveal-tests to use it all the same"),
        (("--reveal-tests",), "--reveal-tests does not apply to --feedback scores"),
    ],
)
def test_a_form_that_does_not_fit_the_task_is_a_usage_error(work: Path, options: tuple[str, ...], message: str) -> None:
    result = solve(work, SUBMIT, options=(*TWO, *options))
    assert (result.status, message in result.err) == (2, True), result.err
    assert not (work / "runs").exists()
