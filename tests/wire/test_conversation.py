"""A provider's model over a real wire in three protocols: its requests and its replies."""

from __future__ import annotations

import json

import pytest

from agent.models.protocol import CallFailure
from tests.wire.conformance import seal
from tests.wire.replies import Fault, Turn
from tests.wire.talk import PROTOCOLS, talking

EVERY_PROTOCOL = pytest.mark.parametrize("protocol", PROTOCOLS)
WITH_RAW_ARGUMENTS = pytest.mark.parametrize("protocol", ["chat", "responses"])


@EVERY_PROTOCOL
def test_several_tool_calls_in_one_turn_each_get_a_result(protocol):
    with talking(protocol, [Turn(text="Two.", commands=("ls", "pwd")), Turn(commands=("true",))]) as talk:
        answer = talk.ask()
        assert answer.reply.text == "Two."
        assert [json.loads(call.arguments) for call in answer.reply.tool_calls] == [
            {"command": "ls"},
            {"command": "pwd"},
        ]
        assert {call.name for call in answer.reply.tool_calls} == {"bash"}
        assert answer.finish_reason == "tool_calls"
        talk.ask()
        assert "output 1.0" in json.dumps(talk.sent)
        assert "output 1.1" in json.dumps(talk.sent)


@EVERY_PROTOCOL
def test_reasoning_is_sent_back_unchanged(protocol):
    """The server rejects a request whose reasoning does not match its seal."""
    thinking = "Let me think: ü 中 \u2028 end."
    with talking(protocol, [Turn(thinking=thinking, commands=("ls",))] * 3) as talk:
        talk.ask()
        talk.ask()
        talk.ask()
        sealed = seal("rs_0") if protocol == "responses" else seal(thinking)
        assert json.dumps(talk.sent).count(sealed) == (1 if protocol == "responses" else 2)


@WITH_RAW_ARGUMENTS
def test_arguments_that_are_not_json_are_recorded_as_they_came_and_do_not_break_later_requests(protocol):
    broken = '{"command": "cat > f <<EOF'
    with talking(protocol, [Turn(raw_calls=(("bash", broken),), length=True), Turn(commands=("ls",))]) as talk:
        answer = talk.ask()
        assert answer.reply.tool_calls[0].arguments == broken
        assert broken in json.dumps(answer.reply.message).replace('\\\\\\"', '"').replace('\\"', '"')
        assert answer.finish_reason == "length"
        assert talk.ask().reply.tool_calls[0].arguments == '{"command": "ls"}'
        assert "cat > f <<EOF" in json.dumps(talk.sent), "the model should see what it had written"


@WITH_RAW_ARGUMENTS
@pytest.mark.parametrize("arguments", ["[1]", "null", '"ls"', "", "{" * 100_000])
def test_other_arguments_that_are_not_an_object_do_not_break_later_requests(protocol, arguments):
    with talking(protocol, [Turn(raw_calls=(("bash", arguments),)), Turn(text="ok")]) as talk:
        assert talk.ask().reply.tool_calls[0].arguments == arguments
        assert talk.ask().reply.text == "ok"


@WITH_RAW_ARGUMENTS
def test_the_name_of_an_unknown_tool_is_converted_to_valid_characters(protocol):
    with talking(protocol, [Turn(raw_calls=(("functions.bash <x>", "{}"),)), Turn(text="ok")]) as talk:
        assert talk.ask().reply.tool_calls[0].name == "functions.bash <x>"
        talk.ask()
        assert "functions_bash__x_" in json.dumps(talk.sent)


@EVERY_PROTOCOL
def test_an_empty_reply_does_not_break_later_requests(protocol):
    with talking(protocol, [Turn(), Turn(text="ok")]) as talk:
        empty = talk.ask().reply
        assert (empty.text, empty.tool_calls, empty.refusal) == ("", (), "")
        assert talk.ask().reply.text == "ok"


@EVERY_PROTOCOL
def test_a_reply_cut_off_while_thinking_does_not_break_later_requests(protocol):
    with talking(protocol, [Turn(thinking="I was about to", length=True), Turn(text="ok")]) as talk:
        assert talk.ask().finish_reason == "length"
        assert talk.ask().reply.text == "ok"


@EVERY_PROTOCOL
def test_fenced_blocks_need_no_tool(protocol):
    with talking(protocol, [Turn(text="```bash\nls\n```")] * 2, action="fenced") as talk:
        assert talk.model.info.action_format == "fenced"
        assert talk.ask().reply.text == "```bash\nls\n```"
        talk.ask()
        assert "tools" not in talk.sent


@EVERY_PROTOCOL
def test_the_tool_is_bash_with_one_command(protocol):
    with talking(protocol, [Turn(text="x")]) as talk:
        talk.ask()
        assert len(talk.sent["tools"]) == 1
        tool = talk.sent["tools"][0].get("function", talk.sent["tools"][0])
        schema = tool.get("parameters", tool.get("input_schema"))
        assert tool["name"] == "bash"
        assert (list(schema["properties"]), schema["required"]) == (["command"], ["command"])


@EVERY_PROTOCOL
def test_a_refusal_is_a_reply(protocol):
    with talking(protocol, [Turn(refusal="I cannot help with that.")]) as talk:
        answer = talk.ask()
        assert answer.reply.refusal == "I cannot help with that."
        assert answer.usage is not None


@pytest.mark.parametrize("protocol", ["chat", "responses"])
def test_a_filtered_reply_is_a_refusal(protocol):
    with talking(protocol, [Turn(text="Sure, ", content_filter=True), Turn(content_filter=True)]) as talk:
        assert talk.ask().reply.refusal == "Sure, "
        assert "filter" in talk.ask().reply.refusal


def test_a_filtered_prompt_is_a_refusal_and_not_a_failure():
    fault = Fault("error", 400, "The response was filtered", "invalid_request_error", "content_filter")
    with talking("chat", [fault]) as talk:
        answer = talk.ask()
        assert "The response was filtered" in answer.reply.refusal
        assert answer.usage is None


@EVERY_PROTOCOL
def test_the_served_model_is_the_one_that_the_provider_reports(protocol):
    with talking(protocol, [Turn(text="x", served="gpt-other-2026")]) as talk:
        assert talk.ask().model_served == "gpt-other-2026"


def test_unknown_parts_of_a_reply_are_sent_back():
    """OpenRouter's reasoning_details are an example; litellm drops them."""
    seen = []

    def script(body):
        seen.append(body)
        return Turn(thinking="Hm.", commands=("ls",))

    with talking("chat", script, name="openrouter/anthropic/claude-opus-4.5") as talk:
        talk.ask()
        talk.ask()
    assert seen[1]["messages"][2]["reasoning_seal"] == seal("Hm.")


@EVERY_PROTOCOL
def test_parameters_are_sent_to_the_provider_and_recorded(protocol):
    settings = {"temperature": "0.25", "max_tokens": "77", "some_new_parameter": "7"}
    name = "anthropic/claude-sonnet-4-5" if protocol == "anthropic" else None
    with talking(protocol, [Turn(text="x")], name=name, **settings) as talk:
        talk.ask()
        assert talk.sent["temperature"] == 0.25
        assert talk.sent["max_output_tokens" if protocol == "responses" else "max_tokens"] == 77
        assert talk.sent["some_new_parameter"] == 7
        assert "some_new_parameter" in json.dumps(talk.model.info.parameters)


def test_an_unsupported_parameter_is_rejected_not_dropped():
    with talking("anthropic", [Turn(text="x")], temperature="0.25") as talk:
        with pytest.raises(CallFailure, match="temperature") as failure:
            talk.ask()
        assert failure.value.error == "bad_request"
        assert talk.server.requests == []


def test_responses_are_stateless_and_reasoning_effort_is_converted():
    with talking("responses", [Turn(text="x")], reasoning_effort="high") as talk:
        talk.ask()
        assert talk.sent["store"] is False
        assert talk.sent["include"] == ["reasoning.encrypted_content"]
        assert talk.sent["reasoning"] == {"effort": "high"}
        assert "previous_response_id" not in talk.sent


def test_the_maximum_that_anthropic_requires_is_sent_and_recorded():
    with talking("anthropic", [Turn(text="x")]) as talk:
        talk.ask()
        assert talk.sent["max_tokens"] == talk.model.info.parameters["max_tokens"] >= 32_000


def test_a_key_from_the_environment_is_sent_or_otherwise_a_placeholder(monkeypatch):
    with talking("anthropic", [Turn(text="x")] * 2) as talk:
        talk.ask()
        monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-ant-wire-test")
        talk.ask()
        keys = [request.headers["x-api-key"] for request in talk.server.requests]
        assert keys == ["no-key-needed", "sk-ant-wire-test"]
        assert "sk-ant" not in repr(talk.model.info)


def test_a_reply_of_another_protocol_is_converted():
    """The history of a fork with another model holds replies that this model did not write."""
    with talking("responses", [Turn(thinking="Hm.", text="Look.", commands=("ls",))]) as first:
        first.ask()
    for protocol in ("chat", "anthropic"):
        with talking(protocol, [Turn(text="ok")]) as second:
            second.history = list(first.history)
            assert second.ask().reply.text == "ok"
            assert "Look." in json.dumps(second.sent)
    with talking("chat", [Turn(thinking="Hm.", text="Look.", commands=("ls",))]) as first:
        first.ask()
    with talking("responses", [Turn(text="ok")]) as second:
        second.history = list(first.history)
        assert second.ask().reply.text == "ok"
        assert "Look." in json.dumps(second.sent)
