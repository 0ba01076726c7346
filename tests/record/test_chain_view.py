"""`agent show` of a chain of turns: what changed from each turn to the next."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from tests.record.intervention_records import CHAIN, FIRST, write_chain, write_guided, write_trial
from tests.records.compared import read_only
from trajectories.reading.interventions.chain import Changes, read_chain

TURN_1 = {"f2p.a": "passed", "f2p.b": "failed", "p2p.c": "passed"}
TURN_2 = {"f2p.a": "passed", "f2p.b": "passed", "p2p.c": "failed"}
TURN_3 = {"f2p.a": "missing", "f2p.b": "passed", "p2p.c": "passed"}


def test_cases_that_a_turn_gained_and_lost_are_named(tmp_path: Path) -> None:
    _, second, _ = write_chain(tmp_path / "b", TURN_1, TURN_2, TURN_3)  # type: ignore[arg-type]
    chain = read_chain(second)
    assert chain is not None
    assert (chain.first, chain.turn, chain.turns, chain.feedback) == (FIRST, 2, 3, "output")
    assert [turn.turn for turn in chain.members] == [1, 2, 3]
    assert [turn.changes for turn in chain.members] == [
        None,
        Changes(gained=1, lost=1, gained_cases=("f2p.b",), lost_cases=("p2p.c",)),
        Changes(gained=1, lost=1, gained_cases=("p2p.c",), lost_cases=("f2p.a",)),
    ]
    assert chain.members[2].groups["f2p"].passed == 1
    result = read_only("show", str(second))
    text = result.out.decode()
    assert "turn 2 lost 1 case: p2p.c" in text
    assert "turn 3 gained 1 case: p2p.c" in text
    assert "2 (this)" in text
    assert f"turn 2 of 3 of the chain {FIRST}; feedback output, conversation fresh" in text
    assert f"feedback on turn 1 (output) from {FIRST}, 1 file" in text
    assert "feedback output, conversation fresh" in text
    shown = read_only("show", str(second), "--json").json["chain"]
    assert shown["members"][1]["changes"]["lost_cases"] == ["p2p.c"]


def test_scores_as_feedback_give_numbers_and_no_names(tmp_path: Path) -> None:
    scores = CHAIN.model_copy(update={"feedback": "scores"})
    first, *_ = write_chain(tmp_path / "b", TURN_1, TURN_2, chain=scores)  # type: ignore[arg-type]
    chain = read_chain(first)
    assert chain is not None
    assert chain.members[1].changes == Changes(gained=1, lost=1, gained_cases=None, lost_cases=None)
    shown = json.dumps(read_only("show", str(first), "--json").json["chain"])
    assert "f2p.b" not in shown
    tail = read_only("show", str(first)).out.decode().partition("chain of 3 turns")[2]
    assert "+1" in tail
    assert "f2p.b" not in tail


def test_turns_without_a_verdict_or_a_record_leave_the_others(tmp_path: Path) -> None:
    first, second, third = write_chain(tmp_path / "b", TURN_1, None, TURN_3)  # type: ignore[arg-type]
    chain = read_chain(third)
    assert chain is not None
    assert [(turn.passed, turn.changes) for turn in chain.members] == [(False, None), (None, None), (False, None)]
    shutil.rmtree(first)
    (second / "events.jsonl").write_text("{}\n")
    chain = read_chain(third)
    assert chain is not None
    assert [(turn.turn, bool(turn.problem)) for turn in chain.members] == [(2, True), (3, False)]
    assert "unreadable" in read_only("show", str(third)).out.decode()


def test_a_trial_outside_of_a_chain_shows_none(tmp_path: Path) -> None:
    trial = write_trial(tmp_path / "b" / "alone")
    assert read_chain(trial) is None
    assert "chain" not in read_only("show", str(trial), "--json").json
    assert "chain of" not in read_only("show", str(trial)).out.decode()


@pytest.mark.parametrize("name", ["../../elsewhere", "/etc", "x/../y", "", "."])
def test_the_name_of_a_chain_leads_nowhere_outside_of_the_batch(tmp_path: Path, name: str) -> None:
    outside = write_trial(tmp_path / "elsewhere")
    chain = CHAIN.model_copy(update={"first": name})
    trial = write_trial(tmp_path / "runs" / "b" / "t", turn=2, chain=chain)
    read = read_chain(trial)
    assert read is not None
    assert str(outside) not in {turn.trial for turn in read.members}
    assert [turn.turn for turn in read.members] == [2]


def test_a_chain_that_claims_a_billion_turns_is_shown_at_once(tmp_path: Path) -> None:
    trial = write_trial(tmp_path / "b" / FIRST, turn=1, chain=CHAIN.model_copy(update={"turns": 10**9}))
    read = read_chain(trial)
    assert read is not None
    assert [turn.turn for turn in read.members] == [1]


def test_the_summary_counts_questions_answers_and_refusals(tmp_path: Path) -> None:
    shown = read_only("show", str(write_guided(tmp_path / "b" / "guided"))).out.decode()
    assert "3 questions, 1 answer, 1 refusal; cost $1.0000" in shown
