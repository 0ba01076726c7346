"""The model `script:FILE`: the contents of a file, and the choice of the next turn."""

from __future__ import annotations

import json
import time

import pytest

from agent.models.choose import make_model
from agent.models.protocol import AssistantTurn, CallFailure, ModelUnusable, Request
from trajectories.record.events import Message
from trajectories.record.usage import Costs

TASK = Message(id="m1", role="user", content="Do it.", why="task")


def script(tmp_path, content, name="script.yaml"):
    path = tmp_path / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return make_model(f"script:{path}", settings={}, api_base=None)


def play(model, history=None, tries=1):
    history = [TASK] if history is None else history
    step = 1 + sum(isinstance(entry, AssistantTurn) for entry in history)
    answer = model.ask(Request(step, tries, history, 60.0))
    history.append(AssistantTurn(f"a{step}", answer.reply))
    return answer


def commands(answer):
    return [json.loads(call.arguments)["command"] for call in answer.reply.tool_calls]


EVERYTHING = """\
- ls -la
- [echo one, "true"]
- text: A longer one.
  commands: |
    cat <<'EOF'
    hello
    EOF
  usage: {input: 10, output: 5}
  finish_reason: length
- calls: [{name: python, arguments: {code: "1"}}, {arguments: '{"comm'}]
- {refusal: I will not.}
- {text: Only words.}
"""


def test_every_kind_of_turn(tmp_path):
    model = script(tmp_path, EVERYTHING)
    history = [TASK]
    assert commands(play(model, history)) == ["ls -la"]
    several = play(model, history)
    assert commands(several) == ["echo one", "true"]
    assert [call.id for call in several.reply.tool_calls] == ["call_2_1", "call_2_2"]
    longer = play(model, history)
    assert commands(longer) == ["cat <<'EOF'\nhello\nEOF\n"]
    assert (longer.reply.text, longer.usage.input, longer.usage.output) == ("A longer one.", 10, 5)
    assert longer.finish_reason == "length"
    raw = play(model, history).reply.tool_calls
    assert [(call.name, call.arguments) for call in raw] == [("python", '{"code": "1"}'), ("bash", '{"comm')]
    assert play(model, history).reply.refusal == "I will not."
    words = play(model, history)
    assert (words.reply.text, words.reply.tool_calls, words.finish_reason) == ("Only words.", (), "stop")
    with pytest.raises(CallFailure) as caught:
        play(model, history)
    assert caught.value.error == "gave_up"


def test_a_script_is_known_to_cost_nothing(tmp_path):
    model = script(tmp_path, "[ls]")
    assert model.info.free == Costs(billed=0, computed=0, list=0)
    assert play(model).usage.total == 0


def test_a_script_may_be_json(tmp_path):
    assert commands(play(script(tmp_path, '["ls", ["pwd"]]', "script.json"))) == ["ls"]


def test_each_try_before_the_reply_is_one_failure(tmp_path):
    model = script(
        tmp_path,
        """\
- fail: {error: rate_limit, detail: slow down, retry_after_s: 3, status: 429}
- fail: {error: server_error}
- ls
- fail: {error: timeout}
""",
    )
    history = [TASK]
    with pytest.raises(CallFailure) as first:
        play(model, history, tries=1)
    assert (first.value.error, first.value.detail, first.value.retry_after_s, first.value.status) == (
        "rate_limit",
        "slow down",
        3,
        429,
    )
    with pytest.raises(CallFailure) as second:
        play(model, history, tries=2)
    assert second.value.error == "server_error"
    assert commands(play(model, history, tries=3)) == ["ls"]
    with pytest.raises(CallFailure) as third:
        play(model, history, tries=1)
    assert third.value.error == "timeout"
    with pytest.raises(CallFailure) as fourth:
        play(model, history, tries=2)
    assert fourth.value.error == "gave_up"


def test_a_resumed_trial_continues_where_it_stopped(tmp_path):
    history = [TASK]
    first = script(tmp_path, "[one, two, three]")
    play(first, history)
    play(first, history)
    assert commands(play(script(tmp_path, "[one, two, three]"), history)) == ["three"]


def test_lone_surrogates_are_replaced(tmp_path):
    model = script(
        tmp_path,
        r"""[{"fail": {"error": "timeout", "detail": "d\ud800"}},
             {"text": "t\ud800", "commands": "ls \ud800", "finish_reason": "f\ud800",
              "calls": [{"name": "n\ud800", "arguments": "{\ud800"}]}, {"refusal": "r\ud800"}]""",
        "script.json",
    )
    history = [TASK]
    with pytest.raises(CallFailure) as caught:
        play(model, history)
    answer = play(model, history, tries=2)
    first, second = answer.reply.tool_calls
    cleaned = [caught.value.detail, answer.reply.text, answer.finish_reason, json.loads(first.arguments)["command"]]
    cleaned += [second.name, second.arguments, play(model, history).reply.refusal]
    expected = ["d\ufffd", "t\ufffd", "f\ufffd", "ls \ufffd", "n\ufffd", "{\ufffd", "r\ufffd"]
    assert ascii(cleaned) == ascii(expected), "in ascii, because pytest-xdist cannot report half a character"


def test_a_slow_reply_is_delayed_or_times_out(tmp_path):
    model = script(tmp_path, "[{commands: ls, reply_delay_s: 0.2}]")
    began = time.monotonic()
    play(model)
    assert time.monotonic() - began >= 0.2
    with pytest.raises(CallFailure) as caught:
        model.ask(Request(1, 1, [TASK], 0.05))
    assert caught.value.error == "timeout"


def test_identity_follows_the_content_not_the_path(tmp_path):
    first, same, other = (
        script(tmp_path, content, name).info.ref
        for content, name in (("[ls]", "a.yaml"), ("[ls]", "b.yaml"), ("[pwd]", "c.yaml"))
    )
    assert (first.name, first.settings) == (same.name, same.settings)
    assert first.settings != other.settings


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("", "list of turns"),
        ("ls", "list of turns"),
        ("{turns: [ls]}", "list of turns"),
        ("[ls, 3]", "turn 2"),
        ("[ls, null]", "turn 2"),
        ("[ls, true]", "turn 2"),
        ("[[ls, true]]", "turn 1: commands must be texts"),
        ("[{command: ls}]", "line 1: turn 1: 'command': unknown key; did you mean commands?"),
        ("[{text: 3}]", "text must be"),
        ("[{commands: ls, usage: {tokens: x}, reply_delay_s: 0}]", None),
        ("[{commands: ls, usage: {input: -1}}]", "usage must"),
        ("[{commands: ls, usage: [1]}]", "usage must"),
        ("[{commands: ls, usage: 0}]", "usage must"),
        ("[{commands: ls, usage: {input: .inf}}]", "usage must"),
        (f"[{{commands: ls, usage: {{input: 1{'0' * 400}}}}}]", "usage must"),
        ("[{commands: ls, reply_delay_s: soon}]", "turn 1: reply_delay_s"),
        ("[{commands: ls, reply_delay_s: .nan}]", "turn 1: reply_delay_s"),
        ("[ls, {commands: ls, reply_delay_s: .inf}]", "turn 2: reply_delay_s"),
        (f"[{{commands: ls, reply_delay_s: 1{'0' * 400}}}]", "reply_delay_s"),
        ("[{commands: ls, reply_delay_s: true}]", "reply_delay_s"),
        ("[{commands: false}]", "commands must be"),
        ("[{text: 0}]", "text must be"),
        ("[{commands: ls, finish_reason: [stop]}]", "finish_reason must be"),
        ("[{commands: ls, refusal: {no: way}}]", "refusal must be"),
        ("[{fail: {error: [timeout]}}]", "is not one of"),
        ("[{fail: {error: timeout, detail: 3}}]", "turn 1: detail must be"),
        ("[{fail: {error: timeout, retry_after_s: soon}}]", "turn 1: retry_after_s must be"),
        ("[{fail: {error: timeout, retry_after_s: -1}}]", "retry_after_s must be"),
        ("[{fail: {error: timeout, retry_after_s: .inf}}]", "retry_after_s must be"),
        ("[{fail: {error: timeout, retry_after_s: .nan}}]", "retry_after_s must be"),
        ("[{fail: {error: timeout, status: '429'}}]", "turn 1: status must be"),
        ("[{fail: {error: timeout, status: true}}]", "status must be"),
        ("[{calls: 0}]", "calls must be"),
        ("[{calls: [{name: 3}]}]", "turn 1: name must be"),
        ("[{calls: [{arguments: {day: 2026-01-01}}]}]", "turn 1: arguments must be"),
        ("[{calls: [{arguments: {x: .nan}}]}]", "turn 1: arguments must be"),
        ("[{fail: {error: broken}}]", "'broken' is not one of"),
        ("[{fail: timeout}]", "fail must be"),
        ("[{fail: {error: timeout}, text: x}]", "no other key"),
        ("[{calls: {name: x}}]", "calls must be"),
        ("[{calls: [{nam: x}]}]", "turn 1: 'nam': unknown key; did you mean name?"),
        ("[ls", "line 1: a bracket is not closed"),
        (b"- \xff\xfe", "not UTF-8"),
    ],
)
def test_an_error_names_file_and_place(tmp_path, content, expected):
    if expected is None:
        script(tmp_path, content)
        return
    with pytest.raises(ModelUnusable) as caught:
        script(tmp_path, content)
    assert "script.yaml" in str(caught.value)
    assert expected in str(caught.value)
    assert "\n" not in str(caught.value)
