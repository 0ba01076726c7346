"""One of our trials with every kind of event, exported in all formats and imported again from mini-swe-agent's."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from trajectories.formats.export import export
from trajectories.formats.source import Source
from trajectories.formats.trial import import_file
from trajectories.reading.reader import read_events
from trajectories.record.events import (
    ActionFinished,
    ActionStarted,
    CallFailed,
    CallFinished,
    CallStarted,
    Exited,
    InheritedReply,
    Limits,
    Message,
    ModelRef,
    Parent,
    Reply,
    TaskRef,
    TextRef,
    ToolCall,
    TrialStarted,
)
from trajectories.record.exits import CAUSES, Exit
from trajectories.record.usage import Costs, Usage
from trajectories.writing.recorder import Recorder

USAGE = Usage(input=10, cache_read=20, cache_write_5m=3, cache_write_1h=4, output=9, reasoning=5)
COSTS = Costs(billed=None, computed=0.25, list=0.5)


def bash(id: str, script: str) -> ToolCall:
    return ToolCall(id=id, name="bash", arguments=json.dumps({"command": script}))


def write_trial(directory: Path, exit: Exit | None = None, *, parent: Parent | None = None) -> Path:
    """Write a trial with two streams, a signal, a deadline, a retried call, format errors and a submission."""
    directory.mkdir()
    record = Recorder(directory)
    record.append(
        TrialStarted(
            trial=directory.name,
            identity="id",
            task=TaskRef(id="demo/x", benchmark="demo", digest="d"),
            model=ModelRef(asked="opus", name="anthropic/opus", settings={"temperature": 0}),
            prompt=TextRef(name="default", sha256=""),
            limits=Limits(cost_usd=2.5),
            environment="docker",
            environment_spec={"image": "i", "workdir": "/w", "env": {"A": "b"}},
            versions={"retrace": "0.1.0"},
            parent=parent,
        )
    )
    number = 0

    def id() -> str:
        nonlocal number
        number += 1
        return f"m{number}"

    def say(role: Any, content: str, why: Any, **more: Any) -> None:
        record.append(Message(id=id(), role=role, content=content, why=why, **more))

    def start(step: int, try_: int = 1) -> None:
        record.append(CallStarted(step=step, try_=try_, message_ids=(), messages=0, messages_sha256=""))

    def answer(step: int, reply: Reply, **more: Any) -> None:
        more = {"usage": USAGE, "costs": COSTS, **more}
        record.append(
            CallFinished(
                step=step,
                id=id(),
                reply=reply,
                model_requested="anthropic/opus",
                model_served="opus-1",
                latency_s=1.5,
                **more,
            )
        )

    def run(step: int, n: int, script: str, call: str, output: bytes = b"", **more: Any) -> None:
        address = f"{step}.{n}"
        record.append(ActionStarted(action=address, step=step, script=script, tool_call_id=call, deadline_s=7.5))
        kept = {"output": record.output(output, len(output)), "duration_s": 0.5}
        result = ActionFinished(action=address, step=step, tool_call_id=call, **{**kept, **more})
        record.append(result)
        say("tool", f"shown: {result.output.text}", "observation", tool_call_id=call, action=address)

    say("system", "be good", "system", inherited=parent is not None)
    say("user", "do it", "task", inherited=parent is not None)
    if parent is not None:
        reply = Reply(text="earlier", tool_calls=(bash("p", "true"),))
        record.append(InheritedReply(id=id(), step=1, reply=reply, model_served="opus-0"))
        say("tool", "nothing", "observation", tool_call_id="p", action="1.1", inherited=True)
    start(1)
    thinking = {"thinking_blocks": [{"type": "thinking", "thinking": "hm", "signature": "s"}]}
    answer(1, Reply(text="both", tool_calls=(bash("a", "one"), bash("b", "two")), message=thinking))
    run(1, 1, "one", "a", b"out\n", ended="exited", exit_code=3, streams="separate", stderr=record.output(b"err\n", 4))
    run(1, 2, "two", "b", b"", ended="exited", signal=9)
    start(2)
    record.append(
        CallFailed(step=2, error="rate_limit", detail="slow down", status=429, retry=True, wait_s=0.0, latency_s=0.1)
    )
    start(2, 2)
    answer(2, Reply(text="", tool_calls=(bash("a", "sleep"),)), usage_raw={"prompt_tokens": 37, "completion_tokens": 9})
    run(2, 1, "sleep", "a", b"\x1b[1mpart", ended="deadline")
    start(3)
    answer(3, Reply(text="I forgot", refusal="no"))
    say("user", "call the tool", "format_error")
    start(4)
    answer(4, Reply(tool_calls=(ToolCall(id="", name="bash", arguments="{broken"), bash("ok", "ls"))))
    say("tool", "no valid JSON", "format_error", tool_call_id="")
    run(4, 1, "ls", "ok", b"x" * 20_000, ended="oom")
    start(5)
    submission = (bash("s", "echo COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT"), bash("t", "never"))
    answer(5, Reply(tool_calls=submission), usage=None, costs=Costs(), finish_reason="tool_calls")
    say("tool", "Not executed", "not_executed", tool_call_id="s")
    say("tool", "Not executed", "not_executed", tool_call_id="t")
    if exit is not None:
        record.append(Exited(exit=exit, steps=5))
    record.close()
    return directory


def essence(trial: Path) -> dict[str, Any]:
    """Return everything in the record that mini-swe-agent's format can hold."""
    source = Source.of(trial)
    conversation = [
        (event.role, event.content, event.why, event.tool_call_id, event.inherited)
        if isinstance(event, Message)
        else (event.type, event.step, event.reply.text, event.reply.tool_calls, event.model_served)
        for event in source.conversation
    ]
    calls = [event for event in source.events if isinstance(event, CallFinished)]
    return {
        "conversation": conversation,
        "calls": [(c.usage, c.usage_raw, c.costs, c.finish_reason, c.latency_s, c.reply.refusal) for c in calls],
        "scripts": [(s.action, s.script, s.tool_call_id, s.deadline_s) for s in source.started.values()],
        "results": [
            (
                *(r.action, r.ended, r.exit_code, r.signal, r.duration_s, r.streams, r.output.sha256, r.output.bytes),
                r.stderr and r.stderr.sha256,
            )
            for r in source.finished.values()
        ],
        "exit": source.exit,
        "totals": [source.summary.steps, source.summary.commands, source.summary.usage, source.summary.cost_usd],
        "conditions": [source.start.environment, source.start.environment_spec, source.start.limits],
    }


@pytest.mark.parametrize("parent", [None, Parent(trial="p", step=1)], ids=["trial", "fork"])
@pytest.mark.parametrize("exit", [Exit.of("submitted"), None], ids=["closed", "open"])
def test_an_export_to_mini_and_an_import_lose_nothing(tmp_path: Path, exit: Exit | None, parent: Parent | None) -> None:
    trial = write_trial(tmp_path / "trial", exit, parent=parent)
    file = tmp_path / "trial.traj.json"
    file.write_bytes(export(trial, "mini"))
    again = import_file(file, tmp_path / "runs" / "batch").directory
    assert essence(again) == essence(trial)


@pytest.mark.parametrize("cause", [cause for causes in CAUSES.values() for cause in causes])
def test_every_exit_is_kept(tmp_path: Path, cause: Any) -> None:
    trial = write_trial(tmp_path / "trial", Exit.of(cause, "why it ended"))
    file = tmp_path / "trial.traj.json"
    file.write_bytes(export(trial, "mini"))
    again = import_file(file, tmp_path / "runs" / "batch")
    assert Source.of(again.directory).exit == Exit.of(cause, "why it ended")
    foreign = json.loads(file.read_text())
    del foreign["info"]["retrace"]
    file.write_text(json.dumps(foreign))
    exit = import_file(file, tmp_path / "runs" / "batch").summary.exit
    assert exit is not None
    assert exit.reason == Exit.of(cause).reason
    assert exit.cause == cause or {exit.cause, cause} == {"steps", "cost"}  # one word of mini-swe-agent's for both


def test_atif_is_valid_and_complete(tmp_path: Path) -> None:
    atif = pytest.importorskip("atif")
    trial = write_trial(tmp_path / "trial", Exit.of("submitted"), parent=Parent(trial="p", step=1))
    data = export(trial, "atif")
    value = json.loads(data)
    assert atif.Trajectory.model_validate_json(data).to_json_dict() == value
    steps = value["steps"]
    assert [step["source"] for step in steps] == ["system", "user", *["agent"] * 4, "user", "agent", "agent"]
    assert [step.get("is_copied_context") for step in steps[:4]] == [True, True, True, None]
    first = steps[3]
    assert (first["reasoning_content"], first["model_name"]) == ("hm", "opus-1")
    assert [result["extra"].get("returncode") for result in first["observation"]["results"]] == [3, None]
    assert first["observation"]["results"][1]["extra"]["signal"] == 9
    assert first["metrics"] == {
        "prompt_tokens": 37,
        "completion_tokens": 9,
        "cached_tokens": 20,
        "cost_usd": 0.25,
        "extra": {
            "cache_write_5m_tokens": 3,
            "cache_write_1h_tokens": 4,
            "reasoning_tokens": 5,
            "cost_source": "computed",
            "costs_usd": {"billed": None, "computed": 0.25, "list": 0.5},
        },
    }
    assert steps[4]["metrics"]["extra"]["failed_attempts"] == [{"error": "rate_limit", "detail": "slow down"}]
    broken = steps[7]["tool_calls"][0]
    assert (broken["arguments"], broken["extra"]["arguments_as_sent"]) == ({}, "{broken")
    assert "total_cost_usd" not in value["final_metrics"]  # the last call's is unknown


def test_openai_messages_are_complete(tmp_path: Path) -> None:
    trial = write_trial(tmp_path / "trial", parent=Parent(trial="p", step=1))
    line = json.loads(export(trial, "openai"))
    assert [m["role"] for m in line["messages"]] == [
        *("system", "user", "assistant", "tool"),
        *("assistant", "tool", "tool", "assistant", "tool"),
        *("assistant", "user", "assistant", "tool", "tool", "assistant", "tool", "tool"),
    ]
    assert [m.get("weight") for m in line["messages"] if m["role"] == "assistant"] == [0, None, None, None, None, None]
    assert all(call["id"] for m in line["messages"] for call in m.get("tool_calls", []))
    assert "hm" not in json.dumps(line)
    assert json.loads(export(trial, "openai", reasoning=True))["messages"][4]["reasoning_content"] == "hm"


def test_a_cast_has_the_commands_and_whole_outputs(tmp_path: Path) -> None:
    trial = write_trial(tmp_path / "trial")
    lines = [json.loads(line) for line in export(trial, "asciicast").decode().splitlines()[1:]]
    assert [text for _, kind, text in lines if kind == "i"] == ["one\r\n", "two\r\n", "sleep\r\n", "ls\r\n"]
    shown = [text for _, kind, text in lines if kind == "o" and not text.startswith("$ ")]
    assert shown == ["out\r\nerr\r\n", "\x1b[1mpart\r\n", "x" * 20_000 + "\r\n"]
    times = {event.mono_s for event in read_events(trial)}
    assert {time for time, _, _ in lines} <= times


def test_a_trial_without_messages_cannot_be_exported_in_every_format(tmp_path: Path) -> None:
    from trajectories.formats.errors import CannotExport

    trial = write_trial(tmp_path / "trial")
    first = (trial / "events.jsonl").read_bytes().splitlines(keepends=True)[0]
    (trial / "events.jsonl").write_bytes(first)
    for format in ("atif", "openai"):
        with pytest.raises(CannotExport):
            export(trial, format)  # type: ignore[arg-type]
    assert json.loads(export(trial, "mini"))["messages"] == []
    assert len(export(trial, "asciicast").splitlines()) == 1
