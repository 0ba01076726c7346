"""Copies of a reply's texts: left out of the line, and the same message again when it is read."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, strategies as st

from agent.loop.actions import SUBMIT
from agent.loop.worker import LoopWorker
from agent.trial.fresh import Fresh
from agent.trial.options import Options
from agent.trial.resolve import resolve
from agent.trial.run import run_new
from tests.record.test_recorder import started
from tests.wire.replies import Turn
from tests.wire.server import WireServer
from trajectories.reading.reader import read_events
from trajectories.record.conversation import Conversation
from trajectories.record.copies import LINE, with_copies, without_copies
from trajectories.record.events import CallFinished, InheritedReply, Reply, ToolCall
from trajectories.writing.masking import Masker
from trajectories.writing.packing import pack
from trajectories.writing.recorder import Recorder

ARGUMENTS = '{"command": "make"}'
CALL = {"id": "c1", "type": "function", "function": {"name": "bash", "arguments": ARGUMENTS}}
THINKING = {"type": "thinking", "thinking": "Hm.", "signature": "s"}
USE = {"type": "tool_use", "id": "c1", "name": "bash", "input": {"command": "make"}}
OUTPUT = [
    {"type": "reasoning", "id": "r", "encrypted_content": "x", "summary": []},
    {"type": "message", "id": "m", "content": [{"type": "output_text", "text": "I build.", "annotations": []}]},
    {"type": "function_call", "id": "f", "call_id": "c1", "name": "bash", "arguments": ARGUMENTS},
]
SHORTENED: dict[str, dict[str, Any]] = {
    "chat completions": {"role": "assistant", "content": "I build.", "tool_calls": [CALL]},
    "litellm": {
        "content": "I build.",
        "role": "assistant",
        "tool_calls": [{"index": 1, **CALL}],
        "thinking_blocks": [THINKING],
    },
    "responses": {"output": OUTPUT},
    "blocks": {"role": "assistant", "content": [THINKING, {"type": "text", "text": "I build."}, USE]},
    "other text": {"role": "assistant", "content": "Something else.", "tool_calls": [CALL]},
    "other arguments": {"role": "assistant", "content": "I build.", "tool_calls": [{"id": "c1", "function": {}}]},
}
WHOLE: dict[str, dict[str, Any]] = {
    "none": {},
    "null already": {"role": "assistant", "content": None, "tool_calls": [CALL]},
    "two texts": {"content": [{"type": "text", "text": "I "}, {"type": "text", "text": "build."}]},
    "one call more": {"role": "assistant", "tool_calls": [CALL, CALL]},
    "no objects": {"content": ["I build."], "tool_calls": "I build.", "output": 3},
}


def reply(message: dict[str, Any]) -> Reply:
    call = ToolCall(id="c1", name="bash", arguments=ARGUMENTS)
    return Reply(text="I build.", tool_calls=(call,), message=message)


@pytest.mark.parametrize("name", [*SHORTENED, *WHOLE])
def test_a_reply_is_read_back_with_the_same_bytes(name: str) -> None:
    original = reply({**SHORTENED, **WHOLE}[name])
    line = original.model_dump_json(context=LINE)
    assert original.model_dump_json() == original.model_dump_json(context={"line": True}), "only a line leaves them out"
    assert "without_copies" not in original.model_dump_json()
    assert ("without_copies" in json.loads(line)) is (name in SHORTENED)
    again = Reply.model_validate_json(line)
    assert again == original
    assert json.dumps(again.message) == json.dumps(original.message), "the order of the keys, too"
    assert "without_copies" not in again.model_dump(), "the hash over messages does not know of it"
    assert again.model_dump_json(context=LINE) == line


@pytest.mark.parametrize("name", ["chat completions", "litellm", "responses", "blocks"])
def test_a_text_stands_once_in_a_reply(name: str) -> None:
    line = reply(SHORTENED[name]).model_dump_json(context=LINE)
    assert line.count("I build.") == 1
    assert line.count(json.dumps(ARGUMENTS)) == 1


JSON = st.recursive(
    st.none() | st.booleans() | st.sampled_from(["", "a", "b", "text", "function_call", "output_text"]),
    lambda inside: (
        st.lists(inside, max_size=3)
        | st.dictionaries(
            st.sampled_from(["content", "tool_calls", "function", "arguments", "output", "type", "text"]),
            inside,
            max_size=4,
        )
    ),
    max_leaves=12,
)


@given(JSON, st.sampled_from(["", "a", "b"]), st.lists(st.sampled_from(["", "a", "b"]), max_size=2))
def test_any_message_is_restored(message: Any, text: str, arguments: list[str]) -> None:
    whole = message if isinstance(message, dict) else {"content": message}
    before = json.dumps(whole)
    short = without_copies(whole, text, arguments)
    assert json.dumps(whole) == before, "the message itself is not changed"
    if short is not None:
        assert json.dumps(with_copies(short, text, arguments)) == before
        assert len(json.dumps(short)) != len(before)


def finished(message: dict[str, Any], arguments: str) -> CallFinished:
    own = Reply(text="", tool_calls=(ToolCall(id="c1", name="bash", arguments=arguments),), message=message)
    return CallFinished(step=1, id="m1", reply=own, model_requested="m", latency_s=0.1)


def test_a_long_command_stands_twice_less_in_the_record(tmp_path: Path) -> None:
    arguments = json.dumps({"command": "x" * 100_000})
    call = {"id": "c1", "type": "function", "function": {"name": "bash", "arguments": arguments}}
    event = finished({"role": "assistant", "content": None, "tool_calls": [call]}, arguments)
    recorder = Recorder(tmp_path)
    recorder.append(started())
    written = recorder.append(event)
    inherited = recorder.append(InheritedReply(id="m2", step=1, reply=written.reply))
    recorder.close()
    line, second = (tmp_path / "events.jsonl").read_bytes().splitlines()[1:]
    assert len(line) < 101_000
    assert len(second) < 101_000
    assert list(read_events(tmp_path))[1:] == [written, inherited]
    assert written.reply == event.reply


def test_a_secret_in_a_copy_is_masked_in_both_places(tmp_path: Path) -> None:
    secret = "sk-0123456789"
    arguments = json.dumps({"command": f"use {secret}"})
    call = {"id": "c1", "type": "function", "function": {"name": "bash", "arguments": arguments}}
    recorder = Recorder(tmp_path, masker=Masker({"KEY": secret}))
    recorder.append(started())
    recorder.append(finished({"role": "assistant", "tool_calls": [call]}, arguments))
    recorder.close()
    text = (tmp_path / "events.jsonl").read_text()
    assert secret not in text
    assert '"without_copies":true' in text
    event = list(read_events(tmp_path))[1]
    assert isinstance(event, CallFinished)
    masked = json.dumps({"command": "use [secret:KEY]"})
    assert event.reply.tool_calls[0].arguments == masked
    assert event.reply.message["tool_calls"][0]["function"]["arguments"] == masked


def test_a_line_of_schema_1_keeps_its_nulls() -> None:
    """There, null in a message is what the provider sent."""
    message = {"role": "assistant", "content": None, "tool_calls": [{"function": {"arguments": None}}]}
    call = {"id": "", "name": "bash", "arguments": ARGUMENTS}
    line = json.dumps({"text": "I build.", "tool_calls": [call], "refusal": "", "message": message})
    assert Reply.model_validate_json(line).message == message


def test_the_hash_of_a_request_is_the_same_of_a_written_and_a_read_reply() -> None:
    event = finished(SHORTENED["chat completions"], ARGUMENTS)
    hashes = set()
    for each in (event, CallFinished.model_validate_json(event.model_dump_json(by_alias=True, context=LINE))):
        conversation = Conversation()
        conversation.add(each)
        hashes.add(conversation.sha256)
    assert len(hashes) == 1


def test_a_long_command_takes_twice_its_size_in_a_whole_trial(tmp_path: Path) -> None:
    """It stands in the arguments of the tool call and in the script that ran: both are read by themselves."""
    (tmp_path / "start").mkdir()
    command = f": {'x' * 176_000}"
    with WireServer([Turn(commands=(command,)), Turn(commands=(SUBMIT,))]) as server:
        order = resolve(
            Options(
                instruction="Work.",
                workspace=tmp_path / "start",
                env="local",
                model="openai/gpt-wire",
                api_base=server.base("chat"),
                runs=tmp_path / "runs",
            )
        )
        outcome, summary = run_new(order, Fresh(), LoopWorker(order))
    assert (outcome.exit.cause, summary.steps) == ("submitted", 2)
    events = outcome.directory / "events.jsonl"
    assert 2 * len(command) < events.stat().st_size < 2.1 * len(command)
    (reply, _) = [event.reply for event in read_events(outcome.directory) if isinstance(event, CallFinished)]
    assert reply.message["tool_calls"][0]["function"]["arguments"] == reply.tool_calls[0].arguments
    pack(outcome.directory)
    assert (outcome.directory / "events.jsonl.zst").stat().st_size < 0.1 * len(command)
