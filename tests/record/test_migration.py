"""Records of older schema versions, and what a later version appends to them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.record.test_recorder import started
from trajectories.analysis.integrity.panels import panels_of
from trajectories.checks.check import check
from trajectories.errors import RecordError
from trajectories.reading.reader import EventParser, read_events
from trajectories.reading.summary import summarize
from trajectories.record.events import (
    SCHEMA_VERSION,
    EvaluationStarted,
    Event,
    Exited,
    Message,
    Paused,
    RoleCallFinished,
    RoleCallStarted,
    Submission,
    Voted,
    Warned,
)
from trajectories.record.exits import Exit
from trajectories.workspace.states import NoSnapshots, state_at
from trajectories.writing.recorder import Recorder

SHA = "5" * 64


def record(tmp_path: Path, version: str, *events: dict[str, Any]) -> Path:
    """Write a record of a version by hand, spaced as no version of Retrace does."""
    first = {**json.loads(started().model_dump_json()), "schema_version": version}
    lines = [{**event, "seq": seq, "t": "", "mono_s": 0.0} for seq, event in enumerate([first, *events])]
    (tmp_path / "events.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    return tmp_path


def appended(trial: Path, *events: Event) -> list[bytes]:
    """Append events as a resumed trial does, and return all lines."""
    *_, last = read_events(trial)
    recorder = Recorder(trial, after=last)
    for event in events:
        recorder.append(event)
    recorder.close()
    return (trial / "events.jsonl").read_bytes().splitlines(keepends=True)


def old_evaluation() -> dict[str, Any]:
    return {"type": "evaluation_started", "evaluator": "demo", "workspace_sha256": SHA}


@pytest.mark.parametrize("version", ["1.0", "1.1", "1.2"])
def test_an_evaluation_of_schema_1_gets_its_number_and_its_submission(tmp_path: Path, version: str) -> None:
    trial = record(tmp_path, version, old_evaluation(), {"type": "warning", "kind": "x", "text": ""}, old_evaluation())
    _, first, _, second = read_events(trial)
    submission = Submission(kind="archive", sha256=SHA)
    assert isinstance(first, EvaluationStarted)
    assert (first.seq, first.evaluation, first.submission, first.evaluator) == (1, 1, submission, "demo")
    assert isinstance(second, EvaluationStarted)
    assert second.evaluation == 2


def test_an_evaluation_of_schema_1_without_its_workspace_is_an_error_with_its_place(tmp_path: Path) -> None:
    trial = record(tmp_path, "1.2", {"type": "evaluation_started", "evaluator": "demo"})
    with pytest.raises(RecordError, match=r"events\.jsonl:2: not a valid event"):
        list(read_events(trial))


def test_a_line_that_is_appended_to_an_older_record_names_its_own_version(tmp_path: Path) -> None:
    trial = record(tmp_path, "1.2", old_evaluation())
    again = EvaluationStarted(evaluation=2, evaluator="demo", submission=Submission(kind="archive", sha256=SHA))
    looks_old = Warned(kind="x", text=f'"workspace_sha256":"{SHA}"')
    lines = appended(trial, again, looks_old)
    mark = f',"schema_version":"{SCHEMA_VERSION}"}}\n'.encode()
    assert [line.endswith(mark) for line in lines] == [False, False, True, True]
    events = list(read_events(trial))
    assert [event.evaluation for event in events if isinstance(event, EvaluationStarted)] == [1, 2]
    assert isinstance(events[3], Warned)
    assert events[3].text == looks_old.text
    assert [event.seq for event in events] == [0, 1, 2, 3]
    for number in (1, 2, 3):  # each line by itself, after the first one
        parser = EventParser()
        parser.events(lines[0], "first")
        assert parser.events(lines[number], "x") == [events[number]]


def test_a_line_that_is_appended_to_a_record_of_this_version_is_as_any_other(tmp_path: Path) -> None:
    recorder = Recorder(tmp_path)
    recorder.append(started())
    recorder.close()
    assert b"schema_version" not in appended(tmp_path, Warned(kind="x", text="y"))[1]


@pytest.mark.parametrize("version", ["3.0", "3", "0.9", "", "x"])
def test_another_major_version_is_refused_with_its_place(tmp_path: Path, version: str) -> None:
    trial = record(tmp_path, version)
    with pytest.raises(RecordError, match=rf"events\.jsonl:1: schema version {version}; .* reads 1\.x and 2\.x"):
        list(read_events(trial))
    assert "reads 1.x and 2.x" in check(trial).findings[0].text
    with pytest.raises(RecordError, match=r"reads 1\.x and 2\.x"):
        state_at(trial)


def test_a_line_that_a_newer_major_version_appended_is_refused(tmp_path: Path) -> None:
    trial = record(tmp_path, SCHEMA_VERSION)
    with (trial / "events.jsonl").open("a") as file:
        file.write('{"seq":1,"t":"","mono_s":0.0,"type":"warning","kind":"x","text":"y","schema_version":"3.1"}\n')
    with pytest.raises(RecordError, match=r"events\.jsonl:2: schema version 3\.1"):
        list(read_events(trial))


def test_a_reply_that_holds_a_schema_version_does_not_name_one_for_its_line(tmp_path: Path) -> None:
    call = {"type": "call_started", "step": 1, "message_ids": [], "messages": 0, "messages_sha256": ""}
    trial = record(tmp_path, SCHEMA_VERSION, {**call, "parameters": {"a": 1, "schema_version": "9.0"}})
    path = trial / "events.jsonl"
    first, second = path.read_text().splitlines()
    event = json.loads(second)
    event["parameters"] = event.pop("parameters")  # the last field of its line
    path.write_text(f"{first}\n{json.dumps(event, separators=(',', ':'))}\n")
    assert path.read_text().endswith('"schema_version":"9.0"}}\n')
    assert len(list(read_events(trial))) == 2


def test_a_later_cause_under_a_reason_and_a_later_why_are_read_as_they_stand(tmp_path: Path) -> None:
    trial = record(
        tmp_path,
        SCHEMA_VERSION,
        {"type": "message", "id": "m1", "role": "user", "content": "Look.", "why": "nudge"},
        {"type": "paused", "why": "maintenance"},
        {"type": "resumed"},
        {"type": "exit", "exit": {"reason": "infrastructure", "cause": "meteor"}, "steps": 0},
    )
    _, message, paused, _, exited = read_events(trial)
    assert isinstance(message, Message)
    assert isinstance(paused, Paused)
    assert isinstance(exited, Exited)
    assert (message.why, paused.why, str(exited.exit)) == ("nudge", "maintenance", "infrastructure: meteor")
    summary = summarize(trial, read_events(trial))
    assert summary.exit is not None
    assert (summary.exit.reason, summary.exit.cause) == ("infrastructure", "meteor")


@pytest.mark.parametrize(("reason", "cause"), [("agent", "steps"), ("user", "image_unusable"), ("weather", "x")])
def test_a_known_cause_under_another_reason_and_an_unknown_reason_are_refused(reason: str, cause: str) -> None:
    with pytest.raises(ValueError, match=r"does not belong to reason|Input should be 'agent'"):
        Exit.model_validate({"reason": reason, "cause": cause})


def test_a_checkout_of_an_older_record_reads_only_the_lines_that_it_needs(tmp_path: Path) -> None:
    trial = record(tmp_path, "1.2", old_evaluation())
    with pytest.raises(NoSnapshots):
        state_at(trial)


def test_calls_and_actions_of_another_agent_are_read_checked_and_counted(tmp_path: Path) -> None:
    """Two threads, requests that are not made of messages, and a tool that has no script."""

    def call(step: int, thread: str | None) -> list[dict[str, Any]]:
        answer = {"reply": {}, "model_requested": "m", "latency_s": 1.0}
        pair = {"step": step, "try": 1, **({"thread": thread} if thread else {})}
        return [
            {"type": "call_started", **pair, "message_ids": None, "messages": None, "messages_sha256": None},
            {"type": "call_finished", **pair, **answer, "id": f"r{step}", "usage": {"input": 10, "output": 1}},
        ]

    tool = {"action": "2.1", "step": 2, "thread": "reviewer"}
    output = {"bytes": 0, "kept": 0, "sha256": "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"}
    events = [
        *call(1, None),
        *call(2, "reviewer"),
        {
            "type": "action_started",
            "tool": "edit",
            "script": None,
            "arguments": {"path": "a"},
            "deadline_s": None,
            **tool,
        },
        {"type": "action_finished", "ended": "denied", "duration_s": None, "output": {**output, "text": ""}, **tool},
        *call(3, None),
        {"type": "exit", "exit": {"reason": "agent", "cause": "agent_exited"}, "steps": 3},
    ]
    trial = record(tmp_path, SCHEMA_VERSION, *events)
    problems = [finding.text for finding in check(trial).findings if finding.rule != "order"]
    assert problems == []
    summary = summarize(trial, read_events(trial))
    assert (summary.steps, summary.commands, summary.unmetered_calls, summary.usage.total) == (3, 1, 0, 33)
    shown = next(event.command for event in read_events(trial) if event.type == "action_started")
    assert shown == 'edit {"path": "a"}'


def test_the_requests_to_a_judge_of_schema_1_become_role_calls(tmp_path: Path) -> None:
    """Both judges are asked in vain once; the first one's reply is malformed as well, and the second one is cut off."""
    text = {"name": "integrity", "sha256": "0" * 64}
    judges = [{"asked": "a", "name": "maker/a"}, {"asked": "b", "name": "maker/b"}]
    panel = {"type": "panel_started", "panel": 1, "about": "integrity", "questions": ["tracing"], "judges": judges}
    failed = {"error": "rate_limit", "detail": "later", "costs": None}
    malformed = {"text": "Well.", "malformed": "not an object", "costs": {"billed": 0.5}, "usage": {"output": 7}}
    cut_off = {"error": "interrupted", "detail": "interrupted by the user", "costs": {}}
    trial = record(
        tmp_path,
        "1.1",
        {"type": "exit", "exit": {"reason": "agent", "cause": "submitted"}, "steps": 0},
        {**panel, "prompt": text, "case": text},
        {"type": "vote", "panel": 1, "judge": 1, "outcome": "invalid", "asks": [failed, malformed, malformed]},
        {"type": "vote", "panel": 1, "judge": 2, "outcome": "failed", "asks": [cut_off]},
    )
    events = list(read_events(trial))
    started = [event for event in events if isinstance(event, RoleCallStarted)]
    finished = [event for event in events if isinstance(event, RoleCallFinished)]
    votes = [event for event in events if isinstance(event, Voted)]
    assert [(call.call, call.purpose.judge, call.model.asked, call.try_) for call in started] == [
        (1, 1, "a", 1),
        (2, 1, "a", 2),
        (3, 1, "a", 1),
        (4, 2, "b", 1),
    ]
    assert [result.status for result in finished] == ["failed", "malformed", "malformed", "cut_off"]
    assert (finished[1].text, finished[1].detail) == ("Well.", "not an object")
    assert [vote.calls for vote in votes] == [(1, 2, 3), (4,)]
    (panel_read,) = panels_of(events)
    assert [len(vote.asks) for vote in panel_read.votes] == [3, 1]
    assert panel_read.votes[0].asks[1].malformed == "not an object"
    assert (panel_read.usage.output, panel_read.cost_usd.billed) == (14, None)
    assert [finding.text for finding in check(trial).findings if finding.rule == "panels"] == []
