"""Replies that cannot be recorded, read again or sent back: too deep, too large, odd numbers, half characters."""

from __future__ import annotations

import json

import pytest

from agent.models.choose import make_model
from agent.models.protocol import CallFailure, ModelUnusable
from agent.models.retries import RETRIED
from tests.wire import dialects
from tests.wire.prompt_cache import Counted
from tests.wire.replies import Fault, Turn, bad_request
from tests.wire.server import WireServer
from tests.wire.talk import PROTOCOLS, Talk, talking
from trajectories.record.events import EVENT, CallFinished
from trajectories.record.usage import Usage

EVERY_PROTOCOL = pytest.mark.parametrize("protocol", PROTOCOLS)
HALF = "a\ud83db"
WHOLE = "a\ufffdb"


def body_of(protocol: str, turn: Turn) -> dict:
    return getattr(dialects, protocol)(turn, 0, "gpt-wire", Counted(9))


def nested(levels: int) -> object:
    value: object = "x"
    for _ in range(levels):
        value = [value]
    return value


def recorded(answer) -> CallFinished:
    """Write the answer to a record, and return it as it is read again."""
    event = CallFinished(
        step=1,
        id="m1",
        reply=answer.reply,
        finish_reason=answer.finish_reason,
        usage_raw=answer.usage_raw,
        usage=answer.usage,
        model_requested="x",
        model_served=answer.model_served,
        latency_s=1,
    )
    return EVENT.validate_json(event.model_dump_json(by_alias=True).encode())


def usage_of(talk: Talk) -> Usage:
    """This includes a reply that litellm itself does not accept."""
    try:
        return talk.ask().usage
    except CallFailure as failure:
        return failure.usage


@EVERY_PROTOCOL
def test_raw_usage_that_is_nested_too_deep_is_malformed_but_counted(protocol):
    with talking(protocol, [Turn(text="x", usage={"odd": nested(n)}) for n in (250, 150, 50)]) as talk:
        for _ in range(2):
            with pytest.raises(CallFailure, match="nested deeper than 100 levels") as caught:
                talk.ask()
            assert caught.value.error == "malformed"
            assert caught.value.error in RETRIED
            assert caught.value.usage.total > 0
            assert caught.value.usage_raw is None
        assert recorded(talk.ask()).usage_raw["odd"] == nested(50)


@pytest.mark.parametrize("levels", [150, 50_000])
def test_a_message_that_is_nested_too_deep_is_malformed(levels):
    text = json.dumps(body_of("chat", Turn(text="x")))
    deep = text.replace('"role"', f'"odd": {"[" * levels}{"]" * levels}, "role"').encode()
    with talking("chat", [Fault("body", body=deep), Turn(text="next")]) as talk:
        with pytest.raises(CallFailure) as caught:
            talk.ask()
        assert caught.value.error == "malformed"
        assert talk.ask().reply.text == "next"


@pytest.mark.parametrize("number", ["9" * 1001, "9" * 5000, "1e999", "-1e999"])
def test_a_message_with_a_number_that_cannot_be_sent_back_is_malformed(number):
    text = json.dumps(body_of("chat", Turn(text="x"))).replace('"role"', f'"odd": {number}, "role"')
    with talking("chat", [Fault("body", body=text.encode()), Turn(text="next")]) as talk:
        with pytest.raises(CallFailure) as caught:
            talk.ask()
        assert caught.value.error == "malformed"
        assert talk.ask().reply.text == "next"


@EVERY_PROTOCOL
def test_a_body_that_is_too_large_is_malformed_in_one_line(protocol):
    large = json.dumps({**body_of(protocol, Turn(text="x")), "odd": "x" * (33 << 20)}).encode()
    with talking(protocol, [Fault("body", body=large), Turn(text="next")]) as talk:
        with pytest.raises(CallFailure) as caught:
            talk.ask()
        assert (caught.value.error, caught.value.status) == ("malformed", 200)
        assert caught.value.detail == "the reply is not usable: it is larger than 32 MiB"
        assert talk.ask().reply.text == "next"


@EVERY_PROTOCOL
@pytest.mark.parametrize("odd", [float("inf"), float("nan"), 10**400, -1], ids=["inf", "nan", "long", "negative"])
def test_odd_numbers_in_usage_are_unknown(protocol, odd):
    field = "completion_tokens" if protocol == "chat" else "output_tokens"
    with talking(protocol, [Turn(text="x", usage={"odd": odd}), Turn(text="y", usage={field: odd})]) as talk:
        assert recorded(talk.ask()).usage.output > 0
        usage = usage_of(talk)
        assert usage.output is None
        assert usage.prompt > 0


@EVERY_PROTOCOL
def test_half_characters_are_replaced_everywhere(protocol):
    turn = Turn(text=HALF, commands=("ls",), served=HALF, usage={"odd": [HALF, {HALF: 1}]})
    with talking(protocol, [turn, Turn(text="next")]) as talk:
        answer = talk.ask()
        texts = [answer.reply.text, answer.model_served, answer.usage_raw["odd"]]
        assert ascii(texts) == ascii([WHOLE, WHOLE, [WHOLE, {WHOLE: 1}]]), "pytest-xdist cannot report half a character"
        assert recorded(answer).reply == answer.reply
        assert talk.ask().reply.text == "next"


@pytest.mark.parametrize("protocol", ["chat", "responses"])
def test_half_characters_in_refusals_and_arguments_are_replaced(protocol):
    turns = [Turn(refusal=HALF), Turn(raw_calls=(("bash", f'{{"command": "{HALF}"}}'),)), Turn(text="next")]
    with talking(protocol, turns) as talk:
        assert ascii(talk.ask().reply.refusal) == ascii(WHOLE)
        answer = talk.ask()
        assert ascii(json.loads(answer.reply.tool_calls[0].arguments)) == ascii({"command": WHOLE})
        assert recorded(answer).reply == answer.reply
        assert talk.ask().reply.text == "next"


@EVERY_PROTOCOL
def test_half_characters_escaped_in_arguments_do_not_break_later_requests(protocol):
    with talking(protocol, [Turn(commands=(HALF,)), Turn(text="next")]) as talk:
        assert recorded(talk.ask()).reply.tool_calls[0].name == "bash"
        assert talk.ask().reply.text == "next"
        assert WHOLE in json.dumps(talk.sent).replace("\\\\", "\\").encode().decode("unicode_escape")


@pytest.mark.parametrize("arguments", ['{"command": ' + "[" * 500 + "]" * 500 + "}", '{"command": 1e999}'])
def test_arguments_that_cannot_be_sent_back_do_not_break_later_requests(arguments):
    with talking("chat", [Turn(raw_calls=(("bash", arguments),))]) as first:
        assert first.ask().reply.tool_calls[0].arguments == arguments
    with talking("anthropic", [Turn(text="next")]) as second:
        second.history = list(first.history)
        assert second.ask().reply.text == "next"
        assert "not_a_json_object" in json.dumps(second.sent)


def test_the_password_of_an_api_base_is_used_and_never_printed():
    with WireServer([Turn(text="ok"), bad_request("no such thing at http://someone:hunter2@127.0.0.1/v1")]) as server:
        base = server.v1.replace("://", "://someone:hunter2@")
        model = make_model("openai/gpt-wire", settings={}, api_base=base)
        model.check()
        assert model.info.parameters["api_base"] == server.v1
        talk = Talk(model, server)
        assert talk.ask().reply.text == "ok"
        assert server.requests[0].headers["authorization"].startswith("Basic ")
        with pytest.raises(CallFailure) as caught:
            talk.ask()
        assert "hunter2" not in caught.value.detail + repr(model.info)
    with pytest.raises(CallFailure) as caught:
        talk.ask()
    assert "hunter2" not in caught.value.detail
    with pytest.raises(ModelUnusable) as unusable:
        model.check()
    assert "hunter2" not in str(unusable.value)
    model.close()


@EVERY_PROTOCOL
def test_a_nul_is_replaced_in_every_part_of_a_request(protocol):
    turns = [Turn(text="a\0b", commands=("printf 'c\0d'",)), Turn(text="next")]
    with talking(protocol, turns) as talk:
        reply = talk.ask().reply
        assert "\0" in reply.text + json.loads(reply.tool_calls[0].arguments)["command"], "the record keeps it"
        talk.history[-1] = talk.history[-1].model_copy(update={"content": "e\0f"})  # as in a record of an older version
        talk.ask()
        text = json.dumps(talk.sent, ensure_ascii=False).replace("\\\\", "\\")
    assert "u0000" not in text
    for part in ("a\ufffdb", "e\ufffdf"):
        assert part in text
    assert "c\ufffdd" in text or "c\\ufffdd" in text
