"""Selection of the trials that count, and invalid input: every error names the trial."""

from __future__ import annotations

import pytest

from scoring.errors import ScoringError
from scoring.selecting.selection import (
    MixedConditions,
    labels,
    latest_completed,
    mixed_conditions,
    passed_and_quality,
    select_trials,
)
from tests.scoring.trials import trial


def test_trials_that_do_not_count_are_counted_by_reason() -> None:
    rows = [
        trial("a", quality=1.0, cost_usd=1.0),
        trial("b", verdict=None, passed=None, quality=None),
        trial("c", exit_reason="infrastructure", exit_cause="environment_lost"),
        trial("d", exit_reason="user", exit_cause="interrupted"),
        trial("e", exit_reason=None, exit_cause=None),
        trial("f", verdict="error", passed=None, quality=None),
    ]
    left_out = select_trials(rows, infrastructure="exclude")
    assert [row.task for row in left_out.rows] == ["a", "b"]
    assert (left_out.infrastructure, left_out.unfinished, left_out.unjudged, left_out.unknown_cost) == (2, 2, 1, 1)
    as_failed = select_trials(rows, infrastructure="count")
    assert [row.task for row in as_failed.rows] == ["a", "b", "c", "f"]
    assert (as_failed.infrastructure, as_failed.unfinished) == (2, 2)


def test_an_infrastructure_failure_has_no_quality_even_with_a_verdict() -> None:
    assert passed_and_quality(trial("a", quality=1.0, exit_reason="infrastructure")) == (False, 0.0)
    assert passed_and_quality(trial("a", verdict=None, passed=None, quality=None)) == (False, 0.0)
    assert passed_and_quality(trial("a", quality=1.0)) == (True, 1.0)


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"cost_usd": float("nan")}, "cost_usd is nan"),
        ({"billed_usd": -0.01}, "billed_usd is -0.01"),
        ({"agentmeter_usd": float("inf")}, "agentmeter_usd is inf"),
        ({"wall_s": -1.0}, "wall_s is -1.0"),
        ({"quality": 1.5}, "quality is 1.5"),
        ({"quality": float("nan")}, "quality is nan"),
        ({"metrics": {"em": float("nan")}}, "metric 'em' is nan"),
    ],
)
def test_an_impossible_figure_is_rejected_with_its_trial(fields: dict[str, object], message: str) -> None:
    with pytest.raises(ScoringError) as caught:
        select_trials([trial("good", quality=1.0), trial("bad", **fields)], infrastructure="exclude")
    assert str(caught.value).startswith(f"runs/b/bad.s.1: {message}")


def test_trials_of_two_benchmarks_are_rejected() -> None:
    with pytest.raises(ScoringError, match=r"runs/b/b\.s\.1 is a trial of 'other', runs/b/a\.s\.1 one of 'bench'"):
        select_trials([trial("a"), trial("b", benchmark="other")], infrastructure="exclude")


def test_a_batch_without_finished_trials_is_rejected() -> None:
    running = trial("a", exit_reason=None)
    lost = trial("b", exit_reason="infrastructure")
    with pytest.raises(ScoringError, match=r"none of 2 trials has finished .*runs/b/a\.s\.1"):
        select_trials([running, lost], infrastructure="exclude")
    assert len(select_trials([running, lost], infrastructure="count").rows) == 1
    with pytest.raises(ScoringError, match="no trials"):
        select_trials([], infrastructure="exclude")


def test_two_trials_that_claim_the_same_attempt() -> None:
    first = trial("a", finished="2026-11-20T10:00:00Z")
    copy = trial("a", directory="runs/copy/a.s.1", batch="copy", finished="2026-11-20T11:00:00Z")
    with pytest.raises(ScoringError, match=r"runs/b/a\.s\.1 and runs/copy/a\.s\.1 both claim attempt 1 of s/a/1"):
        select_trials([first, copy], infrastructure="exclude")
    latest = select_trials([first, copy], infrastructure="exclude", duplicates="latest")
    assert [row.directory for row in latest.rows] == ["runs/copy/a.s.1"]
    assert latest.superseded == 1
    assert len(select_trials([first, copy], infrastructure="exclude", duplicates="all").rows) == 2
    other_turn = trial("a", turn=2, directory="runs/b/a.s.1.2")
    assert len(select_trials([first, other_turn], infrastructure="exclude").rows) == 2


def test_the_latest_completed_trial_is_taken() -> None:
    early = trial("a", attempt=1, finished="2026-11-20T10:00:00.000Z")
    late = trial("a", attempt=2, finished="2026-11-20T11:00:00.000Z", verdict=None, passed=None, quality=None)
    lost = trial("a", attempt=3, finished="2026-11-20T12:00:00.000Z", exit_reason="infrastructure")
    running = trial("a", attempt=4, finished="", exit_reason=None)
    for rows in ([early, late, lost, running], [running, lost, late, early]):
        assert latest_completed(rows) == {("s", "a"): late}
    assert latest_completed([lost, running]) == {("s", "a"): lost}
    assert latest_completed([running]) == {}


def test_setups_with_the_same_name_get_different_labels() -> None:
    rows = [trial("a", setup="aaaaaaaaaa", label="m"), trial("a", setup="bbbbbbbbbb", label="m"), trial("a", setup="c")]
    assert labels(rows) == {"aaaaaaaaaa": "m #1", "bbbbbbbbbb": "m #2", "c": "c"}


def test_trials_of_a_task_under_different_limits_are_named() -> None:
    rows = [trial("a"), trial("a", attempt=2, configuration="s/a/other limits"), trial("b")]
    assert mixed_conditions(rows) == [MixedConditions("s", "a", 2)]
