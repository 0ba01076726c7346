"""The results of units, from their records alone: how far they came, what they scored, and what all of it cost."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.batches.files.writing import (
    asked,
    call,
    configuration,
    exited,
    judged,
    write_batch,
    write_trial,
)
from trajectories.batches.events import Ended
from trajectories.batches.journal import BatchWriter
from trajectories.batches.reader import read_batch
from trajectories.batches.results import UnitResult, result_of
from trajectories.record.events import BaseEvent, Chain, ChainStage, Paused, Resumed
from trajectories.record.usage import Usage
from trajectories.writing.lock import TrialLock

X = configuration("x")
ROUNDS = Chain(first="", turns=3, feedback="scores", conversation="fresh", until="passed")
CHAIN = configuration("c", chain=ROUNDS, turn=1)
WORK = call(1)


def result(batch: Path) -> UnitResult:
    return result_of(read_batch(batch).units[0])


@pytest.mark.parametrize("derived", [True, False], ids=["with-trial.json", "from-events"])
@pytest.mark.parametrize(
    ("events", "state", "cause"),
    [
        ([], "interrupted", ""),
        (WORK, "interrupted", ""),
        ([*WORK, exited("interrupted")], "interrupted", "interrupted"),
        ([*WORK, exited("budget")], "waiting", "budget"),
        ([*WORK, exited("environment_lost")], "failed", "environment_lost"),
        ([*WORK, exited("model_unavailable")], "failed", "model_unavailable"),
        ([*WORK, exited("environment_lost"), Paused(why="interrupted"), Resumed()], "interrupted", ""),
        ([*WORK, exited("submitted")], "unevaluated", "submitted"),
        ([*WORK, exited("steps")], "unevaluated", "steps"),
        ([*WORK, exited("steps"), *judged(0.25)[:1]], "unevaluated", "steps"),
        ([*WORK, exited("steps"), *judged(0.25)], "finished", "steps"),
        ([*WORK, exited("steps"), *judged(None)], "finished", "steps"),
    ],
)
def test_the_state_of_a_trial_follows_from_its_record(
    tmp_path: Path, events: Sequence[BaseEvent], state: str, cause: str, derived: bool
) -> None:
    batch = write_batch(tmp_path / "b", X)
    write_trial(batch, X, events, derived=derived)
    outcome = result(batch)
    assert (outcome.state, outcome.cause, outcome.trial, outcome.has_snapshot) == (state, cause, X.trial(1), True)
    assert outcome.work_is_over == (state in ("unevaluated", "finished"))


def test_a_unit_without_a_record_is_planned_unless_the_journal_tells_why_it_could_not_begin(tmp_path: Path) -> None:
    batch = write_batch(tmp_path / "b", X)
    assert (result(batch).state, result(batch).has_snapshot, result(batch).turns) == ("planned", False, 0)
    with BatchWriter(batch) as writer:
        writer.append(Ended(unit=X.unit(1), trial="t", status="failed", cause="worker_lost", detail="no key"))
    assert (result(batch).state, result(batch).cause, result(batch).detail) == ("failed", "worker_lost", "no key")
    write_trial(batch, X, [*WORK, exited(), *judged(1.0)])
    assert result(batch).state == "finished", "the record wins over the journal"


def test_a_trial_that_a_process_is_at_work_on_runs(tmp_path: Path) -> None:
    batch = write_batch(tmp_path / "b", X)
    trial = write_trial(batch, X, [*WORK, exited("environment_lost")])
    with TrialLock(trial):
        assert result(batch).state == "running"
    assert result(batch).state == "failed"


def test_a_trial_without_a_snapshot_cannot_be_resumed(tmp_path: Path) -> None:
    batch = write_batch(tmp_path / "b", X)
    write_trial(batch, X, [exited("environment_lost", 0)], snapshot=False)
    assert not result(batch).has_snapshot
    write_trial(batch, X, WORK, rerun=1)
    outcome = result(batch)
    assert (outcome.state, outcome.has_snapshot, outcome.trial) == ("interrupted", True, f"{X.trial(1)}.r1")


def test_a_score_comes_from_the_trial_that_counts_and_the_costs_from_all(tmp_path: Path) -> None:
    batch = write_batch(tmp_path / "b", X)
    write_trial(batch, X, [*call(1, 0.25), *call(2, 0.25), asked(3), exited("disk_full", 2)])
    write_trial(batch, X, [*call(1, 2.0), exited(), *judged(0.5)], rerun=1)
    outcome = result(batch)
    assert (outcome.state, outcome.passed, outcome.quality, outcome.steps, outcome.turns) == (
        "finished",
        False,
        0.5,
        1,
        1,
    )
    assert (outcome.spending.usd, outcome.spending.calls, outcome.spending.known_usd) == (2.5, 4, None)
    assert outcome.spending.usage == Usage(
        input=300, output=60, cache_read=0, cache_write_5m=0, cache_write_1h=0, reasoning=0
    )
    ((trial, open_call),) = outcome.open_calls
    assert (trial, open_call.number, open_call.why) == (X.trial(1), 3, "in_flight")


@pytest.mark.parametrize(
    ("turns", "state", "passed", "quality"),
    [
        ([[*WORK, exited(), *judged(0.5)]], "interrupted", False, 0.5),
        ([[*WORK, exited(), *judged(1.0)]], "finished", True, 1.0),
        ([[*WORK, exited(), *judged(None)]], "unevaluated", None, None),
        ([[*WORK, exited(), *judged(0.5)], WORK], "interrupted", None, None),
        ([[*WORK, exited(), *judged(0.5)], [*WORK, exited("budget")]], "waiting", None, None),
        ([[*WORK, exited(), *judged(0.5)]] * 3, "finished", False, 0.5),
    ],
)
def test_a_chain_is_finished_after_its_last_turn_or_the_first_that_passes(
    tmp_path: Path, turns: list[list[BaseEvent]], state: str, passed: bool | None, quality: float | None
) -> None:
    batch = write_batch(tmp_path / "b", CHAIN)
    for number, events in enumerate(turns, 1):
        write_trial(batch, CHAIN, events, turn=number)
    outcome = result(batch)
    assert (outcome.state, outcome.turns, outcome.passed, outcome.quality) == (state, len(turns), passed, quality)
    assert outcome.trial == CHAIN.trial(1) + (f".t{len(turns)}" if len(turns) > 1 else "")
    assert outcome.spending.usd == 0.5 * len(turns) == 0.5 * outcome.steps


def test_a_rerun_of_a_chain_has_turns_of_its_own(tmp_path: Path) -> None:
    batch = write_batch(tmp_path / "b", CHAIN)
    write_trial(batch, CHAIN, [*WORK, exited("image_unusable")])
    for turn in (1, 2):
        write_trial(batch, CHAIN, [*WORK, exited(), *judged(turn / 2)], rerun=1, turn=turn)
    outcome = result(batch)
    assert (outcome.state, outcome.turns, outcome.passed) == ("finished", 2, True)
    assert (outcome.trial, outcome.spending.usd) == (f"{CHAIN.trial(1)}.r1.t2", 1.5)
    assert outcome.unit.superseded == (CHAIN.trial(1),)


def test_the_result_of_stages_is_that_of_all_together(tmp_path: Path) -> None:
    stages = (ChainStage(name="a", gate={}), ChainStage(name="b", gate={}))
    chain = Chain(first="", turns=2, feedback=None, conversation="fresh", until="fixed", stages=stages, result="mean")
    staged = configuration("s", chain=chain, turn=1)
    batch = write_batch(tmp_path / "b", staged)
    write_trial(batch, staged, [*WORK, exited(), *judged(1.0)])
    assert (result(batch).state, result(batch).passed) == ("interrupted", False), "a stage is missing"
    write_trial(batch, staged, [*WORK, exited(), *judged(0.5)], turn=2)
    assert (result(batch).state, result(batch).passed, result(batch).quality) == ("finished", False, 0.75)


def test_a_record_that_cannot_be_read_is_named_and_only_the_one_that_counts_makes_a_failure(tmp_path: Path) -> None:
    batch = write_batch(tmp_path / "b", X)
    broken = write_trial(batch, X, [*WORK, exited("disk_full")], derived=False)
    with (broken / "events.jsonl").open("a") as file:
        file.write("nonsense\n")
    outcome = result(batch)
    assert (outcome.state, outcome.cause) == ("failed", "record_unreadable")
    assert "events.jsonl:6: not a valid event" in outcome.detail
    write_trial(batch, X, [*WORK, exited(), *judged(1.0)], rerun=1)
    outcome = result(batch)
    assert (outcome.state, outcome.passed, outcome.spending.usd) == ("finished", True, 0.5)
    assert "events.jsonl:6: not a valid event" in outcome.problem, "its costs are missing"


def test_a_summary_that_is_older_than_its_record_is_not_believed(tmp_path: Path) -> None:
    batch = write_batch(tmp_path / "b", X)
    trial = write_trial(batch, X, [*WORK, exited(), *judged(1.0)])
    lines = (trial / "events.jsonl").read_text().splitlines(keepends=True)
    (trial / "events.jsonl").write_text("".join(lines[:-1]))
    assert result(batch).state == "unevaluated"
    (trial / "events.jsonl").write_text("".join(lines))
    (trial / "trial.json").write_text("{}")
    assert result(batch).state == "finished"


def test_reservations_of_open_calls_add_up_over_all_records(tmp_path: Path) -> None:
    batch = write_batch(tmp_path / "b", X)
    lost = asked(1).model_copy(update={"reserved_usd": 0.5, "reserved_tokens": 100})
    write_trial(batch, X, [lost, exited("environment_lost", 0)])
    write_trial(batch, X, [lost, *call(1), exited(), *judged(1.0)], rerun=1)
    outcome = result(batch)
    assert (outcome.kept_usd, outcome.kept_tokens, outcome.spending.usd) == (1.0, 200, 0.5)
    assert [trial for trial, _ in outcome.open_calls] == [X.trial(1), f"{X.trial(1)}.r1"]
