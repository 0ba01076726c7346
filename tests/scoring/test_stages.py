"""The trials at the stages of a task are one row of a score."""

from __future__ import annotations

from dataclasses import replace

import pytest

from scoring.interventions.facts import InterventionFacts
from scoring.interventions.stages import with_stages_together
from scoring.rows import TrialRow
from trajectories.reading.interventions.stages import StageResult, together
from trajectories.record.interventions import Chain, ChainResult, ChainStage


def _row(turn: int, quality: float, how: ChainResult, *, ends: bool) -> TrialRow:
    return TrialRow(
        trial="a" if turn == 1 else f"a.t{turn}",
        directory=f"runs/a.t{turn}",
        benchmark="b",
        task="b/t",
        model="m",
        label="m",
        setup="s",
        configuration=f"c{turn}",
        identity=f"i{turn}",
        turn=turn,
        exit_reason="agent",
        verdict="scored",
        passed=quality == 1,
        quality=quality,
        metrics={"reward": quality, **({"extra": 1.0} if turn == 1 else {})},
        cost_usd=1.0,
        interventions=InterventionFacts(chain_first="a", turns=2, chain_result=how, ends_chain=ends),
    )


@pytest.mark.parametrize(("how", "quality", "passed"), [("mean", 0.75, False), ("last", 1.0, True)])
def test_one_row_has_the_result_of_all_stages_and_their_costs(how: ChainResult, quality: float, passed: bool) -> None:
    (row,) = with_stages_together([_row(1, 0.5, how, ends=False), _row(2, 1.0, how, ends=True)])
    assert (row.trial, row.turn, row.quality, row.passed, row.cost_usd) == ("a", None, quality, passed, 2.0)
    assert row.metrics == ({"reward": 0.75, "extra": 0.5} if how == "mean" else {"reward": 1.0})
    assert row.completed


def test_a_stage_that_is_not_comparable_marks_the_result_of_all() -> None:
    first = replace(_row(1, 1.0, "mean", ends=False), judged_as="system-image-not-comparable", flagged=True)
    second = replace(_row(2, 1.0, "mean", ends=True), judged_as="system-live", flagged=False)
    (row,) = with_stages_together([first, second])
    assert (row.judged_as, row.flagged) == ("system-image-not-comparable+system-live", True)


def test_a_gate_that_fails_makes_the_chain_whole_but_not_passed() -> None:
    (row,) = with_stages_together([_row(1, 1.0, "mean", ends=True)])
    assert (row.completed, row.quality, row.passed) == (True, 1.0, False)


def test_stages_that_are_still_to_come_leave_the_task_unfinished() -> None:
    (row,) = with_stages_together([_row(1, 1.0, "mean", ends=False)])
    assert not row.completed


def test_other_rows_stay_as_they_are() -> None:
    other = replace(_row(1, 1.0, "mean", ends=True), interventions=InterventionFacts(), turn=None)
    assert with_stages_together([other]) == [other]


def test_a_gate_is_about_the_metrics_and_a_missing_one_fails() -> None:
    stages = (ChainStage(name="x", gate={"reward": 0.5}), ChainStage(name="y"))
    chain = Chain(first="a", turns=2, feedback=None, conversation="fresh", until="fixed", stages=stages, result="mean")
    after = [chain.goes_on_after(1, passed=True, metrics=metrics) for metrics in ({"reward": 0.5}, {"reward": 0.4}, {})]
    assert after == [True, False, False]
    assert not chain.goes_on_after(2, passed=True, metrics={})
    assert together([], "mean", 2) is None
    assert together([StageResult(True, 1.0, {})], "last", 2) == StageResult(False, 1.0, {})
