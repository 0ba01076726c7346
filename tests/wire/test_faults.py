"""Faults on the wire: each has a class and a one-line detail, costs one request, and ends in time."""

from __future__ import annotations

import email.utils
import os
import signal
import threading
import time

import pytest

from agent.models.protocol import CallFailure
from agent.models.retries import RetryPolicy
from tests.wire.replies import (
    Fault,
    Turn,
    bad_key,
    bad_request,
    rate_limited,
    server_error,
    too_long,
    unknown_model,
)
from tests.wire.talk import PROTOCOLS, talking

EVERY_PROTOCOL = pytest.mark.parametrize("protocol", PROTOCOLS)

FAULTS = {
    "429": (rate_limited(), "rate_limit", 429),
    "500": (server_error(), "server_error", 500),
    "503": (server_error(503), "server_error", 503),
    "529, Anthropic's overload": (server_error(529), "server_error", 529),
    "502 in HTML": (Fault("html", 502), "server_error", 502),
    "401": (bad_key(), "authentication", 401),
    "403": (Fault("error", 403, "Your plan does not include this model", "permission_error"), "authentication", 403),
    "400": (bad_request(), "bad_request", 400),
    "404": (unknown_model(), "not_found", 404),
    "no money": (
        Fault("error", 429, "You exceeded your current quota", "insufficient_quota", "insufficient_quota"),
        "authentication",
        429,
    ),
    "a request that is too large": (
        Fault("error", 413, "Request too large", "request_too_large"),
        "context_overflow",
        413,
    ),
    "a connection cut in the body": (Fault("cut"), "connection", 200),
    "a connection cut before the answer": (Fault("hang_up"), "connection", None),
    "invalid JSON": (Fault("invalid_json"), "malformed", 200),
    "HTML with status 200": (Fault("html"), "malformed", 200),
}


@EVERY_PROTOCOL
@pytest.mark.parametrize("case", FAULTS)
def test_a_fault_has_its_class(protocol, case):
    fault, kind, status = FAULTS[case]
    with talking(protocol, [fault, Turn(text="still there")]) as talk:
        with pytest.raises(CallFailure) as caught:
            talk.ask()
        failure = caught.value
        assert (failure.error, failure.status) == (kind, status)
        assert failure.detail
        assert "\n" not in failure.detail
        assert len(failure.detail) <= 300
        assert failure.usage is None
        assert len(talk.server.requests) == 1, "nobody but the driver retries"
        assert talk.ask(try_=2).reply.text == "still there"


@EVERY_PROTOCOL
def test_a_prompt_that_does_not_fit_is_a_context_overflow(protocol):
    with talking(protocol, [too_long(protocol)]) as talk, pytest.raises(CallFailure) as caught:
        talk.ask()
    assert caught.value.error == "context_overflow"


@EVERY_PROTOCOL
def test_retry_after_is_parsed_as_seconds_and_as_a_date(protocol):
    later = email.utils.formatdate(time.time() + 90, usegmt=True)
    with talking(protocol, [rate_limited("7"), rate_limited("2.5"), rate_limited(later), rate_limited("soon")]) as talk:
        waits = []
        for _ in range(4):
            with pytest.raises(CallFailure) as caught:
                talk.ask()
            waits.append(caught.value.retry_after_s)
    assert waits[:2] == [7, 2.5]
    assert 80 < waits[2] <= 90
    assert waits[3] is None
    assert RetryPolicy().wait_s(caught.value, 1) is not None


@pytest.mark.parametrize(
    ("headers", "wait"),
    [
        ({"retry-after-ms": "1500", "retry-after": "7"}, 1.5),
        ({"retry-after-ms": "soon", "retry-after": "7"}, 7),
        ({"retry-after-ms": "nan", "retry-after": "7"}, 7),
        ({"retry-after": "inf"}, None),
        ({"retry-after": "-3"}, 0),
        ({"retry-after": "Mon, 01 Jan 99999999999 00:00:00 GMT"}, None),
    ],
)
def test_the_first_valid_wait_is_used(headers, wait):
    fault = Fault("error", 429, "slow down", "rate_limit_error", headers=headers)
    with talking("chat", [fault]) as talk, pytest.raises(CallFailure) as caught:
        talk.ask()
    assert caught.value.retry_after_s == wait


@EVERY_PROTOCOL
@pytest.mark.parametrize("kind", ["trickle", "stall"])
def test_a_reply_that_never_ends_times_out_in_time(protocol, kind):
    with talking(protocol, [Fault(kind), Turn(text="next")]) as talk:
        with pytest.raises(CallFailure) as caught:
            talk.ask(timeout_s=0.6)
        assert caught.value.error == "timeout"
        assert "time-out" in caught.value.detail or "0.6 s" in caught.value.detail
        assert talk.ask().reply.text == "next"
        assert not [thread for thread in threading.enumerate() if thread.name == "model call"]


def test_the_models_own_time_out_is_a_setting():
    with talking("chat", [Fault("trickle")], timeout_s="0.4") as talk, pytest.raises(CallFailure) as caught:
        talk.ask(timeout_s=3600)
    assert caught.value.error == "timeout"


def test_a_slow_reply_within_the_time_out_is_accepted():
    with talking("anthropic", [Turn(text="slow", delay_s=0.5)]) as talk:
        assert talk.ask(timeout_s=10).reply.text == "slow"


def test_ctrl_c_ends_a_call_at_once():
    with talking("chat", [Turn(text="warm"), Fault("stall")]) as talk:
        talk.ask()
        timer = threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT))
        timer.start()
        with pytest.raises(KeyboardInterrupt):
            talk.ask(timeout_s=3600)


def test_an_endpoint_that_does_not_listen_is_a_connection_failure():
    with talking("responses", []) as talk:
        pass
    with pytest.raises(CallFailure) as caught:
        talk.ask(timeout_s=5)
    assert (caught.value.error, caught.value.status) == ("connection", None)


@EVERY_PROTOCOL
def test_no_detail_contains_a_key(protocol, monkeypatch):
    key = "sk-wire-0123456789abcdef"
    monkeypatch.setenv("OPENAI_API_KEY", key)
    monkeypatch.setenv("ANTHROPIC_API_KEY", key)
    fault = Fault("error", 401, f"Incorrect API key provided: {key}. Or was it sk-proj-abcdefghijkl?", "x")
    with talking(protocol, [fault]) as talk, pytest.raises(CallFailure) as caught:
        talk.ask()
    assert "Incorrect API key" in caught.value.detail
    assert "0123456789" not in caught.value.detail
    assert "abcdefghijkl" not in caught.value.detail


def test_text_that_is_not_secret_stays_in_a_detail(monkeypatch):
    monkeypatch.setenv("MONKEYS", "temperature")
    message = "key_metadata and temperature are no parameters; the Bearer token is missing"
    with talking("chat", [bad_request(message)]) as talk, pytest.raises(CallFailure) as caught:
        talk.ask()
    assert message in caught.value.detail


@pytest.mark.parametrize(
    "echo",
    [
        "sk-wir**key.x",
        "sk-ant-api03-abcdefgh",
        "gsk_abcdefghij",
        "xai-abcdefghij",
        "AIzaSyAbcdefghijk",
        "Bearer " + "t" * 30,
    ],
)
def test_the_echo_of_a_key_is_removed(echo):
    fault = Fault("error", 401, f"Invalid credential: {echo} (401)", "authentication_error")
    with talking("chat", [fault]) as talk, pytest.raises(CallFailure) as caught:
        talk.ask()
    assert "Invalid credential" in caught.value.detail
    assert echo.removeprefix("Bearer ") not in caught.value.detail


def test_an_error_hidden_in_a_200_has_its_class():
    """OpenRouter returns 200 with an error object if the provider behind it fails."""
    body = {"error": {"code": 502, "message": "Provider returned error"}, "user_id": "u"}
    with talking("chat", [Fault("body", body=body)]) as talk, pytest.raises(CallFailure) as caught:
        talk.ask()
    assert (caught.value.error, caught.value.status) == ("server_error", 502)
    assert "Provider returned error" in caught.value.detail


def test_a_reply_without_a_choice_is_malformed_and_its_usage_and_price_count():
    usage = {"prompt_tokens": 9, "completion_tokens": 0, "cost": 0.0042}
    body = {"id": "x", "object": "chat.completion", "choices": [], "usage": usage}
    with talking("chat", [Fault("body", body=body)]) as talk, pytest.raises(CallFailure) as caught:
        talk.ask()
    assert caught.value.error == "malformed"
    assert caught.value.usage is not None
    assert caught.value.usage.input == 9
    assert caught.value.billed_usd == 0.0042


def test_a_malformed_reply_with_only_a_price_keeps_the_price():
    with talking("chat", [Fault("body", body={"choices": [], "usage": {"cost": 0.5}})]) as talk:
        with pytest.raises(CallFailure) as caught:
            talk.ask()
        assert (caught.value.usage, caught.value.billed_usd) == (None, 0.5)
        with pytest.raises(CallFailure) as caught:
            talk.ask()
        assert caught.value.billed_usd is None, "a refused request costs nothing"


def test_a_response_that_failed_has_the_class_of_its_error():
    body = {
        "id": "resp_1",
        "object": "response",
        "created_at": 1,
        "status": "failed",
        "model": "gpt-5.4",
        "output": [],
        "error": {"code": "server_error", "message": "The model failed to generate a response."},
    }
    with talking("responses", [Fault("body", body=body)]) as talk, pytest.raises(CallFailure) as caught:
        talk.ask()
    assert caught.value.error == "server_error"
    assert "failed to generate" in caught.value.detail
