"""The next step of a unit, by the contents of its records."""

from __future__ import annotations

import pytest

from agent.batch.reruns import Facts, Next, Past, Standing, next_of


def _next(facts: Facts, past: Past | None = None, *, reruns: int = 2, evaluate: bool = True) -> Next:
    return next_of(facts, past or Past(had_worker=True), reruns, evaluate=evaluate)


def _work(how: str, *, counted: bool) -> tuple[str, str, bool]:
    return ("work", how, counted)


def _of(next_: Next) -> tuple[str, str, bool]:
    return (next_.kind, next_.how, next_.counted)


def test_a_new_unit_begins() -> None:
    assert _of(_next(Facts("none"), Past())) == _work("fresh", counted=False)


@pytest.mark.parametrize(("can_continue", "how"), [(True, "resume"), (False, "rerun")])
def test_a_lost_environment_is_continued_from_a_snapshot_or_starts_again(can_continue: bool, how: str) -> None:
    facts = Facts("infrastructure", "environment_lost", can_continue=can_continue)
    assert _of(_next(facts)) == _work(how, counted=True)


def test_a_trial_that_its_user_interrupted_goes_on_without_counting() -> None:
    assert _of(_next(Facts("user", "interrupted", can_continue=True), Past())) == _work("resume", counted=False)
    assert _of(_next(Facts("open", can_continue=True), Past())) == _work("resume", counted=False)


def test_a_lost_worker_counts() -> None:
    past = Past(had_worker=True, lost="killed by SIGKILL")
    assert _of(_next(Facts("open", can_continue=True), past)) == _work("resume", counted=True)


@pytest.mark.parametrize("standing", ["infrastructure", "evaluator_failed"])
def test_a_unit_fails_once_its_reruns_are_used_up(standing: Standing) -> None:
    facts = Facts(standing, "environment_lost", can_continue=True)
    end = _next(facts, Past(had_worker=True, counted=2))
    assert (end.kind, end.status, end.cause) == ("end", "failed", "environment_lost")
    assert _next(facts, Past(had_worker=True, counted=1)).kind == "work"


def test_an_unusable_image_fails_at_once() -> None:
    end = _next(Facts("infrastructure", "image_unusable"))
    assert (end.kind, end.status) == ("end", "failed")


def test_a_stopped_model_makes_its_units_wait_with_the_reason() -> None:
    end = _next(
        Facts("infrastructure", "model_unavailable", can_continue=True), Past(had_worker=True, stopped="no key")
    )
    assert (end.status, end.cause, end.detail) == ("waiting", "model_unavailable", "no key")


def test_a_trial_that_the_budget_stopped_waits_and_goes_on_in_a_later_run() -> None:
    facts = Facts("user", "budget", "no money", can_continue=True)
    assert _next(facts).status == "waiting"
    assert _of(_next(facts, Past())) == _work("resume", counted=False)


def test_a_missing_verdict_is_made_up_for_unless_evaluation_is_postponed() -> None:
    assert _of(_next(Facts("unevaluated", "submitted"))) == _work("resume", counted=False)
    assert _next(Facts("unevaluated", "submitted"), evaluate=False).status == "finished"


def test_stopping_ends_work_as_interrupted() -> None:
    end = _next(Facts("user", "interrupted", can_continue=True), Past(had_worker=True, is_stopping=True))
    assert (end.kind, end.status) == ("end", "interrupted")


def test_a_unit_that_another_process_works_on_is_looked_at_later() -> None:
    assert _next(Facts("running")).kind == "later"
