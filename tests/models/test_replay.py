"""The model `replay:TRIAL`: the recorded replies in order, from a real record."""

from __future__ import annotations

import pytest

from agent.models.choose import make_model
from agent.models.protocol import AssistantTurn, CallFailure, ModelUnusable, Request
from trajectories.record.events import (
    CallFailed,
    CallFinished,
    Limits,
    Message,
    ModelRef,
    Reply,
    TaskRef,
    TextRef,
    ToolCall,
    TrialStarted,
)
from trajectories.record.usage import Usage

TASK = Message(id="m1", role="user", content="Do it.", why="task")


def call(step: int, reply: Reply) -> CallFinished:
    return CallFinished(
        step=step,
        id=f"a{step}",
        reply=reply,
        finish_reason="tool_calls",
        usage=Usage(input=1000, output=10),
        model_requested="opus",
        model_served="claude-opus",
        latency_s=1,
    )


def record(path, replies, torn=b""):
    start = TrialStarted(
        trial="t-1",
        identity="i",
        task=TaskRef(id="demo/x", benchmark="demo", digest="d"),
        model=ModelRef(asked="opus", name="anthropic/claude-opus"),
        prompt=TextRef(name="default", sha256="0"),
        limits=Limits(),
        environment="local",
    )
    failed = CallFailed(step=1, error="timeout", detail="x", retry=True, latency_s=1)
    events = [start, failed, *(call(step, reply) for step, reply in enumerate(replies, start=1))]
    path.mkdir()
    lines = [event.model_copy(update={"seq": n}).model_dump_json(by_alias=True) for n, event in enumerate(events)]
    (path / "events.jsonl").write_bytes("\n".join(lines).encode() + b"\n" + torn)
    return make_model(f"replay:{path}", settings={}, api_base=None)


REPLIES = [
    Reply(
        text="Look.",
        tool_calls=(ToolCall(id="c1", name="bash", arguments='{"command": "ls"}'),),
        message={"role": "assistant", "thinking_blocks": [{"type": "thinking"}]},
    ),
    Reply(tool_calls=(ToolCall(id="c2", name="bash", arguments='{"comm'),)),
]


def test_replies_are_those_of_the_record_and_cost_nothing(tmp_path):
    model = record(tmp_path / "t", REPLIES, torn=b'{"type": "call_fin')
    model.check()
    history = [TASK]
    for step, expected in enumerate(REPLIES, start=1):
        answer = model.ask(Request(step, 1, history, 1.0))
        assert answer.reply == expected
        assert answer.finish_reason == "tool_calls"
        assert answer.usage.total == 0
        assert answer.billed_usd is None
        history.append(AssistantTurn(f"a{step}", answer.reply))
    assert model.info.free.best == 0
    assert model.info.action_format == "tool"
    with pytest.raises(CallFailure) as caught:
        model.ask(Request(3, 1, history, 1.0))
    assert caught.value.error == "gave_up"


def test_a_resumed_replay_continues_where_it_stopped(tmp_path):
    model = record(tmp_path / "t", REPLIES)
    assert model.ask(Request(2, 1, [TASK, AssistantTurn("a1", REPLIES[0])], 1.0)).reply == REPLIES[1]


def test_calls_that_share_an_id_get_ids_of_their_own(tmp_path):
    same = Reply(tool_calls=tuple(ToolCall(id=id, name="bash", arguments="{}") for id in ("c", "c", "")))
    model = record(tmp_path / "t", [same, same])
    first = model.ask(Request(1, 1, [TASK], 1.0)).reply
    second = model.ask(Request(2, 1, [TASK, AssistantTurn("a1", first)], 1.0)).reply
    assert [call.id for call in first.tool_calls] == ["c", "call_1_2", "call_1_3"]
    assert [call.id for call in second.tool_calls] == ["call_2_1", "call_2_2", "call_2_3"]


def test_a_record_with_lone_surrogates_is_rejected(tmp_path):
    record(tmp_path / "t", [Reply(text="here")])
    events = tmp_path / "t" / "events.jsonl"
    events.write_bytes(events.read_bytes().replace(b"here", rb"here \ud800"))
    with pytest.raises(ModelUnusable, match=r"events\.jsonl:3"):
        make_model(f"replay:{tmp_path / 't'}", settings={}, api_base=None)


def test_a_recording_of_text_is_replayed_as_text(tmp_path):
    model = record(tmp_path / "t", [Reply(text="```bash\nls\n```")])
    assert model.info.action_format == "fenced"


def test_a_trial_without_replies_or_record_cannot_be_replayed(tmp_path):
    with pytest.raises(ModelUnusable, match="no reply to replay"):
        record(tmp_path / "t", [])
    (tmp_path / "empty").mkdir()
    with pytest.raises(ModelUnusable, match="not a trial"):
        make_model(f"replay:{tmp_path / 'empty'}", settings={}, api_base=None)
    (tmp_path / "empty" / "events.jsonl").write_text("no json\n")
    with pytest.raises(ModelUnusable, match=r"events\.jsonl:1"):
        make_model(f"replay:{tmp_path / 'empty'}", settings={}, api_base=None)


def test_identity_follows_the_replies_not_the_path(tmp_path):
    first, second = record(tmp_path / "one", REPLIES), record(tmp_path / "two", REPLIES)
    assert first.info.ref.settings == second.info.ref.settings
    assert record(tmp_path / "three", REPLIES[:1]).info.ref.settings != first.info.ref.settings
