"""The tool `ask` and a provider's model as expert, over each protocol."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from agent.loop.actions import SUBMIT
from agent.models.choose import make_model
from tests.solve.command import agent
from tests.wire.replies import Turn, server_error
from tests.wire.server import WireServer
from tests.wire.talk import PROTOCOLS
from trajectories.checks.check import check
from trajectories.record.events import Answered, CallStarted, Message, RoleCallFinished


def asking(question: str) -> Turn:
    return Turn(raw_calls=(("ask", json.dumps({"question": question})),))


def tool_names(body: dict) -> list[str]:
    return [tool.get("name") or tool["function"]["name"] for tool in body.get("tools", [])]


def text_of(body: dict) -> str:
    return json.dumps(body, ensure_ascii=False)


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_a_trial_with_questions_over_each_protocol(tmp_path: Path, protocol: str) -> None:
    _, name, settings = PROTOCOLS[protocol]
    (tmp_path / "start").mkdir()
    turns = [Turn(commands=("echo the-result",)), asking("Where do I begin?"), Turn(commands=(SUBMIT,))]
    fails = protocol == "chat"  # once is enough: the wait before the next try takes seconds
    replies = [*[server_error(500)] * fails, Turn(text="x = 1"), Turn(text="Read the given file.")]
    with WireServer(turns) as server, WireServer(replies) as expert:
        flags = [flag for key, value in settings.items() for flag in ("--model-setting", f"{key}={value}")]
        flags += [flag for key, value in settings.items() for flag in ("--guidance-setting", f"{key}={value}")]
        result = agent(
            tmp_path,
            "solve",
            *("--instruction", "Do the work.", "--workspace", "start", "--env", "local", "--json"),
            *("--model", name, "--api-base", server.base(protocol), "--guidance", name),
            *("--guidance-api-base", expert.base(protocol), *flags),
        )
    assert result.status == 0, result.err
    assert all(tool_names(request.body) == ["bash", "ask"] for request in server.requests)
    last = text_of(server.requests[-1].body)
    assert "Read the given file." in last
    assert "x = 1" not in last
    assert len(server.requests) == 3, "each message was accepted by the provider's rules"
    (asked, *_) = [event for event in result.events if isinstance(event, CallStarted)]
    assert tool_names(asked.parameters) == ["bash", "ask"]
    assert all(tool_names(request.body) == [] for request in expert.requests)
    assert "the-result" in text_of(expert.requests[0].body)
    assert "Where do I begin?" in text_of(expert.requests[0].body)
    answers = [(event.status, event.text, event.call) for event in result.events if isinstance(event, Answered)]
    assert answers == [("refused", "x = 1", 1 + fails), ("given", "Read the given file.", 2 + fails)]
    finished = [event for event in result.events if isinstance(event, RoleCallFinished)]
    assert [event.status for event in finished] == [*["failed"] * fails, "answered", "answered"]
    counted = [request.counted.prompt for request in expert.requests if request.counted is not None]
    assert [event.usage.prompt for event in finished[fails:]] == counted
    own = sum(request.counted.prompt for request in server.requests if request.counted is not None)
    usage = result.json["usage"]
    assert (usage["input"] or 0) + (usage["cache_read"] or 0) + (usage["cache_write_5m"] or 0) == own
    interventions = json.loads((result.trial / "trial.json").read_text())["interventions"]
    assert (interventions["given"], interventions["refused"], interventions["calls"]) == (1, 1, 2 + fails)
    if protocol != "chat":  # its model's name is made up, and has no price
        prices = [event.costs.computed for event in finished[fails:]]
        assert interventions["cost_usd"]["computed"] == pytest.approx(sum(prices))
        assert min(prices) > 0
    assert check(result.trial).consistent, check(result.trial).first


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_a_model_without_an_expert_has_one_tool_of_the_same_bytes(protocol: str) -> None:
    _, name, settings = PROTOCOLS[protocol]
    alone = make_model(name, settings=settings, api_base="http://localhost/v1").info.parameters["tools"]
    both = make_model(name, settings=settings, api_base="http://localhost/v1", may_ask=True).info.parameters["tools"]
    assert json.dumps(both[:1]) == json.dumps(alone)
    assert len(both) == 2


def test_a_model_of_fenced_blocks_asks_in_one(tmp_path: Path) -> None:
    (tmp_path / "start").mkdir()
    (tmp_path / "answers.yaml").write_text("- Read the given file.\n")
    turns = [Turn(text="```retrace_ask\nWhere?\n```"), Turn(text=f"```retrace_bash\n{SUBMIT}\n```")]
    with WireServer(turns) as server:
        result = agent(
            tmp_path,
            "solve",
            *("--instruction", "Do the work.", "--workspace", "start", "--env", "local", "--json"),
            *("--model", "openai/gpt-wire", "--model-setting", "action=fenced", "--api-base", server.v1),
            *("--guidance", "file:answers.yaml"),
        )
    assert result.json["exit"]["cause"] == "submitted", result.err
    assert "tools" not in server.requests[0].body
    assert "```retrace_ask" in text_of(server.requests[0].body)
    told = [event for event in result.events if isinstance(event, Message) and event.why == "answer"]
    assert [(message.role, message.tool_call_id) for message in told] == [("user", None)]
