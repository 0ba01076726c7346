"""Checking chains and questions: good records are consistent, and each broken rule is reported."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.record.intervention_records import write_chain, write_guided
from tests.record.test_check import Events, numbered, of, put, without
from trajectories.checks.check import Checked, check

PASSED = {"a": "passed", "b": "failed"}
Break = Callable[[Events], object]


def changed(trial: Path, change: Break) -> Checked:
    """Change the events of a record, and check it."""
    path = trial / "events.jsonl"
    events = [json.loads(line) for line in path.read_text().splitlines()]
    change(events)
    path.write_text("".join(json.dumps(event, separators=(",", ":")) + "\n" for event in events))
    return check(trial)


def chain(events: Events, **new: Any) -> None:
    of(events, "trial_started")["chain"].update(new)


def source(events: Events, **new: Any) -> None:
    of(events, "feedback", 1)["from"].update(new)


def file(events: Events, **new: Any) -> None:
    of(events, "feedback", 1)["files"][0].update(new)


def again(events: Events, kind: str, which: int, **new: Any) -> None:
    """Repeat an event right after itself."""
    event = of(events, kind, which)
    events.insert(events.index(event) + 1, {**event, **new})
    numbered(events)


TURNS: dict[str, tuple[Break, str]] = {
    "no turn": (lambda e: put(e, "trial_started", 0, turn=None), "the trial is in a chain, but has no turn"),
    "one turn": (lambda e: chain(e, turns=1), "the chain has 1 turns"),
    "turn 3 of 2": (lambda e: chain(e, turns=2), "the trial is turn 3 of 2"),
    "own first": (lambda e: chain(e, first="ledger.m.1.t3"), "turn 3 of the chain 'ledger.m.1.t3' has the id"),
    "other name": (lambda e: put(e, "trial_started", 0, trial="x.t3"), "has the id 'x.t3'"),
    "first of chain": (lambda e: put(e, "trial_started", 0, turn=1), "turn 1 of the chain 'ledger.m.1' has the id"),
    "form": (lambda e: put(e, "feedback", 0, form="scores"), "has the form scores, but that of the chain is output"),
    "own feedback": (lambda e: put(e, "feedback", 1, turn=3), "turn 3 has feedback on turn 3"),
    "missing feedback": (lambda e: without(e, "feedback", 0), "turn 3 begins without the feedback on turn 1"),
    "twice": (lambda e: again(e, "feedback", 0), "the feedback on turn 1 comes twice"),
    "from": (lambda e: source(e, trial="ledger.m.1"), "comes from 'ledger.m.1' instead of 'ledger.m.1.t2'"),
    "evaluation": (lambda e: source(e, evaluation=0), "comes from evaluation 0"),
    "blob": (lambda e: file(e, sha256="0" * 64), "the feedback file 'test.log' on turn 2:"),
    "bytes": (lambda e: file(e, bytes=1), "the feedback file 'test.log' on turn 2: blob"),
    "path": (lambda e: file(e, path="../passwd"), "'../passwd' is not below its directory"),
    "absolute": (lambda e: file(e, path="/etc/passwd"), "'/etc/passwd' is not below its directory"),
    "outside": (
        lambda e: put(e, "trial_started", 0, chain=None, turn=None, mode=None),
        "feedback outside of a chain, in a trial that is not a fork",
    ),
}

QUESTIONS: dict[str, tuple[Break, str]] = {
    "number": (lambda e: put(e, "question", 1, question=3), "question 3 instead of 2"),
    "no expert": (
        lambda e: put(e, "trial_started", 0, guidance=None, mode=None),
        "question 1, but the trial has no expert",
    ),
    "left": (lambda e: put(e, "question", 1, left=2), "question 2 has 2 answers left instead of 1"),
    "left at first": (lambda e: put(e, "question", 0, left=1), "question 1 has 1 answers left instead of 2"),
    "action": (lambda e: put(e, "question", 0, action="2.1"), "question 1 of step 1 is the action '2.1'"),
    "unanswered": (lambda e: without(e, "answer", 2), "question 2 was not answered before question 3"),
    "refused at last": (lambda e: without(e, "answer", 1), "question 1 was not answered before question 2"),
    "foreign": (lambda e: put(e, "answer", 2, question=9), "an answer belongs to question 9, which is not asked"),
    "try": (lambda e: put(e, "answer", 1, **{"try": 3}), "answer 3 to question 1 instead of 2"),
    "again": (
        lambda e: put(e, "answer", 0, status="given", line=None),
        "question 1 is answered again",
    ),
    "by": (lambda e: put(e, "answer", 1, by="human"), "comes by human under the rule no-code"),
    "rule": (lambda e: put(e, "answer", 1, rule="none"), "comes by model under the rule none"),
    "none left": (lambda e: put(e, "answer", 3, status="given"), "question 3 is given, but no answers are left"),
    "no line": (lambda e: put(e, "answer", 0, line=None), "is refused, but no line breaks the rule"),
    "call": (lambda e: put(e, "answer", 1, call=7), "comes from role call 7, which is not about it"),
    "other text": (lambda e: put(e, "answer", 1, text="Do this."), "is not the text of role call 2"),
    "purpose": (
        lambda e: put(e, "role_call_started", 1, purpose={"question": 2}),
        "role call 2 is about question 2, which is not asked",
    ),
    "mode": (lambda e: put(e, "trial_started", 0, mode="base"), "make it 'interactive'"),
    "model": (lambda e: of(e, "trial_started")["guidance"].update(by="human"), "the answers come by human"),
    "max": (lambda e: of(e, "trial_started")["guidance"].update(max=0), "the expert answers 0 questions"),
}


def test_chains_and_guided_trials_are_consistent(tmp_path: Path) -> None:
    trials = [*write_chain(tmp_path / "b", PASSED, PASSED, PASSED), write_guided(tmp_path / "b" / "guided")]  # type: ignore[arg-type]
    for trial in trials:
        report = check(trial)
        assert [finding.text for finding in report.findings] == []


@pytest.mark.parametrize("name", TURNS)
def test_a_broken_chain_is_reported(tmp_path: Path, name: str) -> None:
    change, text = TURNS[name]
    trial = write_chain(tmp_path / "b", PASSED, PASSED, PASSED)[2]  # type: ignore[arg-type]
    report = changed(trial, change)
    assert any(text in finding.text and finding.rule == "turns" for finding in report.findings), report.findings


@pytest.mark.parametrize("name", QUESTIONS)
def test_a_broken_question_is_reported(tmp_path: Path, name: str) -> None:
    change, text = QUESTIONS[name]
    report = changed(write_guided(tmp_path / "b" / "guided"), change)
    rules = {finding.rule for finding in report.findings if text in finding.text}
    assert rules == {"parentage" if name == "mode" else "questions"}, report.findings
