"""Whole trials with the real command and litellm's client, against an HTTP server in place of a provider."""

from __future__ import annotations

from pathlib import Path

import pytest

from agent.loop.actions import SUBMIT
from tests.solve.command import CommandResult, agent
from tests.wire.replies import Turn, bad_key, rate_limited, server_error, too_long
from tests.wire.server import WireServer
from tests.wire.talk import PROTOCOLS
from tests.wire.test_call_ids import reply as reply_with_ids
from trajectories.checks.check import check
from trajectories.record.events import CallFailed, CallFinished


@pytest.fixture
def work(tmp_path: Path) -> Path:
    (tmp_path / "start").mkdir()
    return tmp_path


def solve(work: Path, server: WireServer, protocol: str, *options: str, **environ: str) -> CommandResult:
    _, name, settings = PROTOCOLS[protocol]
    flags = [flag for key, value in settings.items() for flag in ("--model-setting", f"{key}={value}")]
    return agent(
        work,
        "solve",
        *("--instruction", "Work.", "--workspace", "start", "--env", "local", "--json", "--model", name),
        *("--api-base", server.base(protocol), *flags, *options),
        **environ,
    )


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_a_trial_over_each_protocol_is_recorded_metered_and_priced(work: Path, protocol: str) -> None:
    turns = [
        Turn(text="I look.", thinking="What is here?", commands=("echo one", "echo two; exit 4")),
        Turn(commands=("cat nothing",)),
        Turn(commands=(SUBMIT,)),
    ]
    with WireServer(turns) as server:
        result = solve(work, server, protocol)
    assert result.status == 0, result.err
    assert result.json["exit"]["cause"] == "submitted"
    assert (result.json["steps"], result.json["commands"]) == (3, 3)
    finished = [event for event in result.events if isinstance(event, CallFinished)]
    counted = [request.counted for request in server.requests]
    assert [event.usage.prompt for event in finished] == [count.prompt for count in counted]
    assert result.json["usage"]["cache_read"] == sum(count.read for count in counted)
    assert result.json["unmetered_calls"] == 0
    priced = protocol != "chat"  # its model's name is made up
    assert (result.json["cost_usd"]["computed"] is not None) == priced
    if priced:
        assert 0 < result.json["cost_usd"]["computed"] <= result.json["cost_usd"]["list"] * 1.25
    results = [event.exit_code for event in result.events if event.type == "action_finished"]
    assert results == [0, 4, 1]


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_call_ids_with_a_secret_are_masked_in_the_record_and_sent_back_as_they_came(work: Path, protocol: str) -> None:
    secret = "sk-verysecret-123"
    turns = [reply_with_ids(protocol, f"call_{secret}", "other"), Turn(commands=(SUBMIT,))]
    with WireServer(turns) as server:  # rejects a result with an id that no call of the conversation has
        result = solve(work, server, protocol, SOME_API_KEY=secret)
    assert (result.status, result.json["exit"]["cause"], result.json["steps"]) == (0, "submitted", 2), result.err
    assert secret not in (result.trial / "events.jsonl").read_text()
    masked = "call_[secret:SOME_API_KEY]"
    assert [event.tool_call_id for event in result.events if event.type == "action_finished"][:2] == [masked, "other"]
    assert check(result.trial).consistent


def test_each_failed_try_is_recorded_and_is_not_a_step(work: Path) -> None:
    turns = [rate_limited("1"), server_error(500), Turn(commands=(SUBMIT,))]
    with WireServer(turns) as server:
        result = solve(work, server, "chat")
    assert result.json["exit"]["cause"] == "submitted"
    assert (result.json["steps"], result.json["failed_calls"]) == (1, 2)
    failed = [event for event in result.events if isinstance(event, CallFailed)]
    assert [(event.error, event.status, event.try_, event.retry) for event in failed] == [
        ("rate_limit", 429, 1, True),
        ("server_error", 500, 2, True),
    ]
    assert result.json["working_s"] < result.json["wall_s"] - sum(event.wait_s for event in failed) + 0.5
    assert len(server.requests) == 3


def test_a_bad_key_is_not_tried_again_and_ends_the_trial_as_infrastructure(work: Path) -> None:
    with WireServer([bad_key()]) as server:
        result = solve(work, server, "chat")
    assert result.status == 1
    assert result.json["exit"]["reason"] == "infrastructure"
    assert result.json["exit"]["cause"] == "model_unavailable"
    assert len(server.requests) == 1
    assert (result.trial / "workspace.tar.zst").exists()


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_a_prompt_longer_than_the_context_ends_the_trial_as_a_limit(work: Path, protocol: str) -> None:
    with WireServer([Turn(commands=("ls",)), too_long(protocol)]) as server:
        result = solve(work, server, protocol)
    assert result.status == 0, result.err
    assert (result.json["exit"]["reason"], result.json["exit"]["cause"]) == ("limit", "context")


def test_a_refusal_ends_the_trial(work: Path) -> None:
    with WireServer([Turn(refusal="I cannot help with that.")]) as server:
        result = solve(work, server, "chat")
    assert result.json["exit"]["cause"] == "refusal"


def test_a_cost_limit_ends_the_trial_of_a_priced_model(work: Path) -> None:
    with WireServer([Turn(commands=("true",), usage={"input_tokens": 100_000})] * 9) as server:
        result = solve(work, server, "anthropic", "--cost-limit", "0.9")
    assert (result.json["exit"]["reason"], result.json["exit"]["cause"]) == ("limit", "cost")
    assert result.json["steps"] == 2
    assert result.json["cost_usd"]["computed"] >= 0.9


@pytest.mark.parametrize("limit", [("--token-limit", "1000"), ("--cost-limit", "1")])
def test_a_limit_that_cannot_be_kept_without_usage_is_recorded_as_a_warning(work: Path, limit: tuple[str, str]) -> None:
    with WireServer([Turn(commands=("true",), no_usage=True), Turn(commands=(SUBMIT,))]) as server:
        result = solve(work, server, "anthropic", *limit)
    assert result.json["unmetered_calls"] == 1
    assert result.json["cost_usd"]["computed"] is None
    warnings = [event for event in result.events if event.type == "warning" and event.kind == "limit_not_kept"]
    assert len(warnings) == 1
    assert limit[0].split("-")[2] in warnings[0].text


def test_a_call_that_hangs_ends_at_the_time_limit_with_its_cost_unknown(work: Path) -> None:
    with WireServer([Turn(commands=("true",), delay_s=20.0)]) as server:
        result = solve(work, server, "anthropic", "--time-limit", "2s")
    assert (result.json["exit"]["reason"], result.json["exit"]["cause"]) == ("limit", "time")
    assert result.json["wall_s"] < 10, "half of the reply's delay"
    assert result.json["unmetered_calls"] == 1
    assert result.json["cost_usd"]["computed"] is None


def test_recorded_fenced_replies_are_read_by_the_rule_of_their_own_prompt(work: Path) -> None:
    for prompt, tag in (("default-1", "bash"), ("default", "retrace_bash")):
        turns = [Turn(text=f"```{tag}\necho hi >>log\n```"), Turn(text=f"```{tag}\n{SUBMIT}\n```")]
        with WireServer(turns) as server:
            result = solve(work, server, "chat", "--model-setting", "action=fenced", "--prompt", prompt)
        assert result.json["commands"] == 1, result.err
        model = ("--model", f"replay:{result.trial}")
        again = agent(work, "solve", "--instruction", "x", "--workspace", ".", "--env", "local", *model, "--json")
        assert (again.json["exit"]["cause"], again.json["commands"]) == ("submitted", 1), again.err


def test_a_trial_with_fenced_blocks_sends_no_tools(work: Path) -> None:
    turns = [Turn(text="```retrace_bash\necho hi\n```"), Turn(text=f"```retrace_bash\n{SUBMIT}\n```")]
    with WireServer(turns) as server:
        result = solve(work, server, "chat", "--model-setting", "action=fenced")
    assert result.json["exit"]["cause"] == "submitted"
    assert "tools" not in server.requests[0].body
