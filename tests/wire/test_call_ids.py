"""Unique ids of tool calls, whatever ids the provider gives: each call gets exactly one result.

The server rejects calls without an id, repeated ids, and results that belong to no call.
"""

from __future__ import annotations

import json

import pytest

from tests.wire import dialects
from tests.wire.prompt_cache import Counted
from tests.wire.replies import Fault, Turn
from tests.wire.talk import PROTOCOLS, talking

EVERY_PROTOCOL = pytest.mark.parametrize("protocol", PROTOCOLS)
WITH_RAW_CALLS = pytest.mark.parametrize("protocol", ["chat", "responses"])
ABSENT = object()


def calls_of(protocol: str, body: dict) -> list[dict]:
    if protocol == "chat":
        return body["choices"][0]["message"]["tool_calls"]
    if protocol == "responses":
        return [item for item in body["output"] if item["type"] == "function_call"]
    return [part for part in body["content"] if part["type"] == "tool_use"]


def reply(protocol: str, *ids: object) -> Fault:
    """Return a good reply with one call per id."""
    turn = Turn(commands=tuple(f"echo {number}" for number in range(len(ids))))
    body = getattr(dialects, protocol)(turn, 0, "gpt-wire", Counted(9))
    key = "call_id" if protocol == "responses" else "id"
    for call, id in zip(calls_of(protocol, body), ids, strict=True):
        call[key] = id
        if id is ABSENT:
            del call[key]
    return Fault("body", body=body)


def ids(answer) -> list[str]:
    return [call.id for call in answer.reply.tool_calls]


@EVERY_PROTOCOL
@pytest.mark.parametrize("id", ["", "same"])
def test_repeated_and_empty_ids_are_made_unique_over_the_trial(protocol, id):
    with talking(protocol, [reply(protocol, id, id), reply(protocol, "own", id), Turn(text="ok")]) as talk:
        first = talk.ask()
        assert ids(first) == [id or "call_1_1", "call_1_2"]
        assert ids(talk.ask()) == ["own", "call_2_2"]
        assert talk.ask().reply.text == "ok"
        sent = json.dumps(talk.sent)
        for own in (id or "call_1_1", "call_1_2", "own", "call_2_2"):
            assert sent.count(f'"{own}"') == 2, "the call and its result"
    assert [json.loads(call.arguments)["command"] for call in first.reply.tool_calls] == ["echo 0", "echo 1"]


@WITH_RAW_CALLS
@pytest.mark.parametrize("id", [ABSENT, None, 5], ids=["absent", "null", "number"])
def test_an_id_that_is_not_a_string_is_replaced(protocol, id):
    with talking(protocol, [reply(protocol, id, "good"), Turn(text="ok")]) as talk:
        assert ids(talk.ask()) == ["call_1_1", "good"]
        assert talk.ask().reply.text == "ok"


def test_a_generated_id_differs_from_all_ids_of_the_provider():
    with talking("chat", [reply("chat", "call_2_1", "x"), reply("chat", "x", "x"), Turn(text="ok")]) as talk:
        talk.ask()
        assert ids(talk.ask()) == ["call_2_1_2", "call_2_2"]
        assert talk.ask().reply.text == "ok"


def test_the_message_is_recorded_as_it_came():
    with talking("chat", [reply("chat", "same", "same")]) as talk:
        assert [call["id"] for call in talk.ask().reply.message["tool_calls"]] == ["same", "same"]


@WITH_RAW_CALLS
def test_arguments_that_are_an_object_become_its_json(protocol):
    arguments = {"command": "echo 'it is' \"ü\"", "deep": [None, True]}
    answer = reply(protocol, "c1")
    call = calls_of(protocol, answer.body)[0]
    call.get("function", call)["arguments"] = arguments
    with talking(protocol, [answer, Turn(text="ok")]) as talk:
        assert json.loads(talk.ask().reply.tool_calls[0].arguments) == arguments
        assert talk.ask().reply.text == "ok"
        sent = next(item for item in talk.sent.get("messages", talk.sent.get("input")) if "c1" in json.dumps(item))
        function = sent["tool_calls"][0]["function"] if protocol == "chat" else sent
        assert json.loads(function["arguments"]) == arguments
