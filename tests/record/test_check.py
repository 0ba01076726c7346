"""Checking a record: good records are consistent, and each broken rule is reported."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.solve.command import agent
from trajectories.checks.check import Checked, check

RECORDINGS = Path(__file__).parents[2] / "docs" / "recordings"
Events = list[dict[str, Any]]


def broken(good: Path, to: Path, change: Callable[[Events], object]) -> Checked:
    """Change the events of a copy of the record, and check it."""
    trial = to / "trial"
    shutil.copytree(good, trial)
    path = trial / "events.jsonl"
    events = [json.loads(line) for line in path.read_text().splitlines()]
    change(events)
    path.write_text("".join(json.dumps(event, separators=(",", ":")) + "\n" for event in events))
    return check(trial)


def of(events: Events, kind: str, which: int = 0) -> dict[str, Any]:
    return [event for event in events if event["type"] == kind][which]


def numbered(events: Events) -> None:
    """Number the events anew, after one was removed or added."""
    for number, event in enumerate(events):
        event["seq"] = number


def put(events: Events, kind: str, which: int, **new: Any) -> None:
    of(events, kind, which).update(new)


def again(events: Events, kind: str, which: int, at: int | None = None, **new: Any) -> None:
    """Insert a second copy of an event, right after it or before number `at`."""
    event = of(events, kind, which)
    where = events.index(event) + 1 if at is None else at
    events.insert(where, {**event, "mono_s": events[where - 1]["mono_s"], **new})
    numbered(events)


def without(events: Events, kind: str, which: int) -> None:
    events.remove(of(events, kind, which))
    numbered(events)


def change_in_snapshot(events: Events, which: int, at: int, **new: Any) -> None:
    of(events, "snapshot", which)["changes"][at].update(new)


USAGE = {"input": 10, "cache_read": 0, "cache_write_5m": 0, "cache_write_1h": 0, "output": 5, "reasoning": None}


def raw_usage(events: Events, usage: dict[str, Any], raw: dict[str, Any]) -> None:
    put(events, "call_finished", 1, usage={**USAGE, **usage}, usage_raw=raw)


BREAKS: dict[str, tuple[Callable[[Events], object], str, str]] = {
    "sequence gap": (lambda e: e.pop(3), "order", "sequence gap: seq 4 instead of 3"),
    "sequence repeat": (lambda e: e[5].update(seq=4), "order", "sequence repeat: seq 4 instead of 5"),
    "foreign version": (lambda e: e[0].update(schema_version="9.0"), "event", "schema version 9.0"),
    "first event": (lambda e: (e.pop(0), numbered(e)), "event", "begins with trial_started"),
    "second start": (lambda e: again(e, "trial_started", 0), "order", "second trial_started"),
    "time": (lambda e: e[6].update(mono_s=0.0), "order", "time runs backwards"),
    "nan": (lambda e: e[6].update(mono_s=float("nan")), "order", "mono_s is nan"),
    "negative duration": (lambda e: put(e, "action_finished", 0, duration_s=-1.0), "order", "duration_s is -1.0"),
    "date": (lambda e: e[6].update(t="yesterday"), "order", "'yesterday' is not a time in UTC"),
    "after exit": (lambda e: again(e, "message", 0, len(e), id="late"), "order", "message after the exit"),
    "second exit": (lambda e: again(e, "exit", 0), "order", "a second exit"),
    "no call_started": (lambda e: without(e, "call_started", 1), "calls", "has no call_started"),
    "no outcome": (lambda e: without(e, "call_finished", 1), "calls", "has no outcome"),
    "steps": (lambda e: put(e, "call_finished", 1, step=7), "calls", "step 7 finishes instead of step 2"),
    "call step": (
        lambda e: put(e, "call_started", 1, step=7),
        "calls",
        "step 7 begins instead of one of step 2",
    ),
    "try": (lambda e: put(e, "call_started", 1, **{"try": 3}), "calls", "try 3 of step 2 instead of 1"),
    "message id": (lambda e: put(e, "message", 2, id="o1"), "calls", "message id 'o1' is used twice"),
    "message ids": (lambda e: put(e, "call_started", 1, message_ids=["m1"]), "calls", "message_ids are 'm1', but"),
    "messages": (lambda e: put(e, "call_started", 1, messages=9), "calls", "messages is 9, but there are 3"),
    "messages hash": (lambda e: put(e, "call_started", 1, messages_sha256="0"), "calls", "messages_sha256 '0'"),
    "changed message": (
        lambda e: put(e, "message", 1, content="else"),
        "calls",
        "is not the hash of the messages so far",
    ),
    "negative tokens": (lambda e: raw_usage(e, {"output": -5}, {}), "event", "usage.output"),
    "reasoning": (lambda e: raw_usage(e, {"reasoning": 6}, {}), "calls", "6 tokens of reasoning in 5"),
    "raw output": (lambda e: raw_usage(e, {}, {"completion_tokens": 4}), "calls", "usage does not add up"),
    "raw prompt": (lambda e: raw_usage(e, {}, {"prompt_tokens": 11}), "calls", "10 tokens of prompt, but 11"),
    "raw anthropic": (lambda e: raw_usage(e, {"cache_read": 3}, {"input_tokens": 7}), "calls", "13 tokens of prompt"),
    "costs": (lambda e: put(e, "call_finished", 1, costs={"billed": float("inf")}), "calls", "costs.billed is inf"),
    "no start": (lambda e: without(e, "action_started", 1), "actions", "2.1 finishes, but has not started"),
    "two starts": (lambda e: again(e, "action_started", 1), "actions", "2.1 starts while 2.1 is running"),
    "two ends": (lambda e: again(e, "action_finished", 1), "actions", "2.1 finishes a second time"),
    "no end": (lambda e: without(e, "action_finished", 2), "actions", "is of action 3.1, which has not"),
    "address": (lambda e: put(e, "action_started", 1, action="x"), "actions", "'x' is not an address of step 2"),
    "action step": (lambda e: put(e, "action_started", 1, action="1.2", step=1), "actions", "1.2 starts during step 2"),
    "call of action": (lambda e: put(e, "action_started", 1, tool_call_id="z"), "actions", "the tool call 'z'"),
    "exit code": (
        lambda e: put(e, "action_finished", 1, exit_code=None),
        "actions",
        "None and the signal None",
    ),
    "and signal": (lambda e: put(e, "action_finished", 1, signal=9), "actions", "exit_code 0 and the signal 9"),
    "counted": (lambda e: of(e, "action_finished", 1)["output"].update(bytes=4), "actions", "4 bytes, of which 5"),
    "output hash": (
        lambda e: of(e, "action_finished", 1)["output"].update(blob=None, text="other"),
        "actions",
        "is not the hash of its text",
    ),
    "output blob": (
        lambda e: of(e, "action_finished", 1)["output"].update(blob="1" * 64, sha256="1" * 64),
        "actions",
        "the blob is missing",
    ),
    "blob's name": (
        lambda e: of(e, "action_finished", 1)["output"].update(blob="1" * 64),
        "actions",
        "is in the blob",
    ),
    "two observations": (
        lambda e: again(e, "message", 2, id="new", tool_call_id=None, role="user"),
        "actions",
        "action 2.1 has two observations",
    ),
    "two answers": (lambda e: again(e, "message", 2, id="new", action=None), "actions", "'c2' is answered twice"),
    "no observation": (lambda e: without(e, "message", 1), "actions", "1.1 has no observation"),
    "observation of none": (lambda e: put(e, "message", 1, action="9.9"), "actions", "9.9, which has not finished"),
    "role": (lambda e: put(e, "message", 1, role="user"), "actions", "role user, but the tool call"),
    "created": (lambda e: change_in_snapshot(e, 1, 0, change="created"), "workspaces", "it is created, but existed"),
    "deleted": (lambda e: change_in_snapshot(e, 2, 0, path="q"), "workspaces", "'q': it is deleted, but did not exist"),
    "modified": (
        lambda e: change_in_snapshot(e, 1, 0, path="q"),
        "workspaces",
        "'q': it is modified, but did not exist",
    ),
    "climbing": (lambda e: change_in_snapshot(e, 0, 0, path="../q"), "workspaces", "not a plain path"),
    "in a file": (lambda e: change_in_snapshot(e, 0, 0, path="d/x/y"), "workspaces", "is not a directory"),
    "left behind": (lambda e: change_in_snapshot(e, 2, 1, path="d"), "workspaces", "'d/x': it still exists"),
    "twice": (lambda e: change_in_snapshot(e, 0, 1, path="a"), "workspaces", "'a': it changes twice"),
    "no hash": (lambda e: change_in_snapshot(e, 0, 0, sha256=None), "workspaces", "has no hash"),
    "size": (lambda e: change_in_snapshot(e, 0, 0, size=7), "workspaces", "holds 1 bytes, but 7 are recorded"),
    "snapshot step": (lambda e: put(e, "snapshot", 2, step=1), "workspaces", "a snapshot of step 1 comes after that"),
    "early snapshot": (lambda e: put(e, "snapshot", 2, step=3), "workspaces", "step 3 comes when 2 steps are finished"),
    "no beginning": (lambda e: without(e, "snapshot", 0), "workspaces", "the first snapshot is of step 1"),
    "exit steps": (lambda e: put(e, "exit", 0, steps=2), "outcome", "the exit counts 2 steps, but 3"),
    "parentless": (
        lambda e: put(e, "message", 0, inherited=True),
        "parentage",
        "but the trial has no parent",
    ),
    "branch": (lambda e: put(e, "trial_started", 0, parent={"trial": "t", "step": -1}), "parentage", "from step -1"),
    "conveniences": (
        lambda e: put(e, "call_finished", 2, usage=USAGE),
        "conveniences",
        "differs from the events in usage",
    ),
}


@pytest.mark.parametrize("name", BREAKS)
def test_each_broken_rule_is_reported(good: Path, tmp_path: Path, name: str) -> None:
    change, rule, text = BREAKS[name]
    checked = broken(good, tmp_path, change)
    assert not checked.consistent
    assert any(finding.rule == rule and text in finding.text for finding in checked.findings), checked.findings


@pytest.mark.parametrize("recording", ["figlet", "ledger"])
def test_the_recordings_are_consistent(recording: str) -> None:
    checked = check(RECORDINGS / recording)
    assert (checked.findings, checked.consistent, checked.finished) == ([], True, True)


def test_a_good_record_is_consistent(good: Path, tmp_path: Path) -> None:
    assert broken(good, tmp_path, lambda events: None).findings == []


@pytest.mark.parametrize(
    ("kind", "which", "text"),
    [
        ("workspace.tar.zst", 0, "cannot be read"),
        ("workspace.tar.zst", 1, "bytes were exported"),
        ("verdict.json", 1, "differs"),
    ],
)
def test_changed_files_of_a_recording_are_reported(tmp_path: Path, kind: str, which: int, text: str) -> None:
    trial = tmp_path / "ledger"
    shutil.copytree(RECORDINGS / "ledger", trial)
    if kind.endswith("json"):
        (trial / kind).write_text(
            (trial / kind).read_text().replace('"passed"', '"failed"').replace('"failed": true', '"passed": true')
        )
    elif which:
        with (trial / kind).open("ab") as file:
            file.write(b"x")
    else:
        (trial / kind).unlink()
    checked = check(trial)
    assert not checked.consistent
    assert kind in str(checked.findings)
    assert text in str(checked.findings)


def test_an_evaluation_without_start_or_of_another_workspace_is_reported(tmp_path: Path) -> None:
    checked = broken(RECORDINGS / "ledger", tmp_path / "1", lambda e: without(e, "evaluation_started", 0))
    assert "without an evaluation_started" in checked.findings[0].text
    change = {"workspace_sha256": "0" * 64}
    checked = broken(RECORDINGS / "ledger", tmp_path / "2", lambda e: put(e, "evaluation_started", 0, **change))
    assert "never exported" in checked.findings[0].text


@pytest.mark.parametrize("damage", ["missing", "torn", "other"])
def test_a_damaged_blob_is_reported(good: Path, tmp_path: Path, damage: str) -> None:
    trial = tmp_path / "trial"
    shutil.copytree(good, trial)
    blobs = sorted(trial.rglob("*.zst"))
    if damage == "missing":
        blobs[0].unlink()
    elif damage == "torn":
        blobs[0].write_bytes(blobs[0].read_bytes()[:-3])
    else:
        shutil.copy(blobs[1], blobs[0])
    checked = check(trial)
    assert checked.first is not None
    assert blobs[0].name in checked.first.text


def test_a_torn_last_line_and_a_missing_exit_are_consistent_after_a_crash(good: Path, tmp_path: Path) -> None:
    trial = tmp_path / "trial"
    shutil.copytree(good, trial)
    path = trial / "events.jsonl"
    path.write_bytes(path.read_bytes()[:-4])
    checked = check(trial)
    assert (checked.consistent, checked.finished) == (True, False)
    assert [(finding.warning, finding.place) for finding in checked.findings] == [(True, "events.jsonl:22")]
    assert "torn" in checked.findings[0].text


def crash_at(events: Events, at: int, *after: dict[str, Any]) -> None:
    """Keep the record up to number `at`, and append a resumption and `after`."""
    del events[at:]
    template = {"t": events[0]["t"], "mono_s": events[-1]["mono_s"]}
    events += [{**template, "type": "resumed"}, *({**event, **template} for event in after)]
    numbered(events)


def test_a_resumed_trial_may_repeat_a_call_or_action_that_the_crash_cut_off(good: Path, tmp_path: Path) -> None:
    def call(events: Events) -> None:
        started = of(events, "call_started", 1)
        failed = {
            "type": "call_failed",
            "step": 2,
            "error": "interrupted",
            "detail": "x",
            "retry": True,
            "latency_s": 0,
        }
        crash_at(events, events.index(started) + 1, failed, {**started, "try": 2, "message_ids": []})

    def action(events: Events) -> None:
        started, finished = of(events, "action_started", 1), of(events, "action_finished", 1)
        crash_at(events, events.index(started) + 1, started, finished, of(events, "message", 2))

    def lost_action(events: Events) -> None:
        finished = of(events, "action_finished", 1)
        crash_at(events, events.index(finished) + 1, of(events, "message", 2))

    for number, crash in enumerate((call, action, lost_action)):
        checked = broken(good, tmp_path / str(number), crash)
        assert (checked.consistent, checked.findings, checked.finished) == (True, [], False)


def test_a_fork_is_checked_against_its_parent(good: Path, tmp_path: Path) -> None:
    def fork(step: int, trial: str) -> Callable[[Events], object]:
        return lambda events: put(events, "trial_started", 0, parent={"trial": trial, "step": step})

    (good / "trial.json").unlink(missing_ok=True)  # it names no parent
    shutil.copytree(good, tmp_path / "b" / "parent")
    assert broken(good, tmp_path / "b", fork(3, "parent")).findings == []
    shutil.rmtree(tmp_path / "b" / "trial")
    assert "which has 3" in broken(good, tmp_path / "b", fork(4, "parent")).findings[0].text
    shutil.rmtree(tmp_path / "b" / "trial")
    checked = broken(good, tmp_path / "b", fork(3, "gone"))
    assert checked.consistent
    assert checked.findings[0].warning


def test_the_command_reports_the_first_inconsistency_and_exits_with_1(good: Path, tmp_path: Path) -> None:
    trial = tmp_path / "runs" / "b" / "trial"
    shutil.copytree(good, trial)
    fine = agent(tmp_path, "show", "trial", "--check")
    assert (fine.status, fine.out) == (0, "consistent: 22 events, finished\n")
    path = trial / "events.jsonl"
    path.write_text(path.read_text().replace('"exit_code":0', '"exit_code":null', 1))
    bad = agent(tmp_path, "show", "trial", "--check")
    assert bad.status == 1
    assert bad.out.startswith("inconsistent: events.jsonl:7: action 1.1 exited, but has the exit_code None")
    result = agent(tmp_path, "show", "trial", "--check", "--json")
    assert result.status == 1
    assert result.json["consistent"] is False
    assert result.json["findings"][0]["place"] == "events.jsonl:7"
    assert agent(tmp_path, "show", "trial", "--check", "--step", "1").status == 2
