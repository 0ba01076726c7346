"""Guided trials from their options to their record: the expert, the clock, resumption, forks, replays and secrets."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import pytest

from agent.errors import UserError
from agent.trial.resolve import resolve
from tests.solve.command import agent
from tests.solve.guided import (
    ANSWERS,
    answers,
    events,
    file_of_answers,
    options,
    questions,
    scripted,
    solve,
    told,
)
from trajectories.checks.check import check
from trajectories.reading.summary import summarize
from trajectories.record.events import CallFinished, Message, Paused, RoleCallFinished, RoleCallStarted

WORK = ("echo one >>log", {"ask": "Which file?"}, "echo two >>log", {"ask": "And then?"})


def test_answers_of_a_file_come_in_order_and_the_mode_is_interactive(tmp_path: Path) -> None:
    trial = solve(tmp_path, *WORK, max_interventions=1)
    assert questions(trial) == [(1, "Which file?", 1), (2, "And then?", 0)]
    assert answers(trial) == [(1, 1, "given", ANSWERS[0]), (2, 1, "nobody", "")]
    assert ANSWERS[0] in told(trial)[0]
    assert "no questions left" in told(trial)[1]
    first = events(trial)[0]
    assert (first.mode, first.guidance.by, first.guidance.max, first.guidance.rule) == (
        "interactive",
        "file",
        1,
        "no-code",
    )
    assert check(trial).consistent, check(trial).first
    guidance = next(event for event in events(trial) if isinstance(event, Message) and event.why == "guidance")
    assert "1 question in all" in guidance.content


def test_a_plan_and_an_expert_are_the_mode_of_both(tmp_path: Path) -> None:
    (tmp_path / "plan.md").write_text("First read, then write.")
    trial = solve(tmp_path, *WORK, plan=tmp_path / "plan.md")
    assert events(trial)[0].mode == "plan-and-interactive"
    whys = [event.why for event in events(trial) if isinstance(event, Message)][:4]
    assert whys == ["system", "task", "guidance", "plan"]


def test_without_an_expert_nothing_changes(tmp_path: Path) -> None:
    trial = solve(tmp_path, "echo one", guidance=None)
    start = events(trial)[0]
    assert (start.mode, start.guidance) == ("base", None)
    assert not any(isinstance(event, Message) and event.why == "guidance" for event in events(trial))


def test_answers_with_code_are_asked_for_again_twice_and_then_replaced(tmp_path: Path) -> None:
    code = "Write this:\n\n    total = total + 1\n"
    replies = [{"text": code}, {"text": "Raise the sum by one."}, *[{"text": code}] * 3]
    trial = solve(tmp_path, *WORK, guidance=scripted(tmp_path, "expert", replies))
    assert [(question, try_, status) for question, try_, status, _ in answers(trial)] == [
        (1, 1, "refused"),
        (1, 2, "given"),
        (2, 1, "refused"),
        (2, 2, "refused"),
        (2, 3, "replaced"),
    ]
    refused = next(event for event in events(trial) if event.type == "answer")
    assert (refused.rule, refused.line, refused.broken, refused.call) == (
        "no-code",
        "total = total + 1",
        "line of code",
        1,
    )
    assert "Raise the sum by one." in told(trial)[0]
    assert "withheld" in told(trial)[1]
    messages = [event.content for event in events(trial) if isinstance(event, Message)]
    assert not any("total + 1" in content for content in messages), "the agent never sees a refused answer"
    interventions = summarize(trial, events(trial)).interventions
    assert interventions is not None
    assert (interventions.given, interventions.refused, interventions.replaced) == (1, 4, 1)
    assert check(trial).consistent, check(trial).first


def test_with_the_rule_none_code_is_passed_on(tmp_path: Path) -> None:
    replies = [{"text": "total = total + 1"}]
    trial = solve(tmp_path, WORK[1], guidance=scripted(tmp_path, "expert", replies), guidance_rule="none")
    assert "total = total + 1" in told(trial)[0]


def test_the_calls_of_a_model_are_role_calls_and_never_the_agents(tmp_path: Path) -> None:
    replies = [{"text": "Read it.", "usage": {"input": 1000, "output": 50}}]
    trial = solve(tmp_path, WORK[1], guidance=scripted(tmp_path, "expert", replies))
    (started,) = [event for event in events(trial) if isinstance(event, RoleCallStarted)]
    (finished,) = [event for event in events(trial) if isinstance(event, RoleCallFinished)]
    assert (started.role, started.purpose.question, finished.usage.input) == ("expert", 1, 1000)
    assert started.prompt == events(trial)[0].guidance.prompt
    summary = summarize(trial, events(trial))
    assert summary.usage.total == 0
    assert summary.interventions.usage.input == 1000


def test_a_key_in_an_answer_is_masked_for_the_agent_and_in_the_record(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    secret = "sk-verysecret-1234"
    monkeypatch.setenv("OTHER_API_KEY", secret)
    trial = solve(tmp_path, {"ask": f"Is {secret} the key?"}, guidance=file_of_answers(tmp_path, f"It is {secret}."))
    assert "It is [secret:OTHER_API_KEY]." in told(trial)[0]
    assert questions(trial)[0][1] == "Is [secret:OTHER_API_KEY] the key?"
    assert secret not in (trial / "events.jsonl").read_text()


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"guidance": "human"}, "--guidance human needs a terminal"),
        ({"guidance": "oracle"}, "--guidance oracle: an expert is human, file:PATH, or a model"),
        ({"guidance": "replay:x"}, "--guidance replay:x: an expert is human"),
        ({"guidance": "file:nowhere.yaml"}, "--guidance file:nowhere.yaml: cannot be read"),
        ({"guidance": "script:nowhere.yaml"}, "--guidance script:nowhere.yaml: "),
        ({"guidance": "no-such-model"}, "--guidance no-such-model: unknown model"),
        ({"guidance": None, "max_interventions": 2}, "--max-interventions does not apply without an expert"),
        ({"guidance": None, "guidance_rule": "none"}, "--guidance-rule does not apply without an expert"),
        ({"guidance_api_base": "http://localhost"}, "--guidance-api-base does not apply to --guidance file:"),
    ],
)
def test_a_mistake_is_one_line_before_anything_starts(tmp_path: Path, changes: dict[str, Any], message: str) -> None:
    with pytest.raises(UserError) as caught:
        resolve(options(tmp_path, **changes))
    assert str(caught.value).startswith(message)
    assert "\n" not in str(caught.value)


@pytest.mark.sandbox
def test_the_environment_stands_while_an_expert_is_asked(tmp_path: Path) -> None:
    tick = "(while :; do date +%s%N >>ticks; sleep 0.05; done >/dev/null 2>&1 &) ; sleep 0.5"
    replies = [{"text": "Read it.", "reply_delay_s": 2.0}]
    turns = [tick, {"ask": "Which?"}, "sleep 0.5; cat ticks"]
    trial = solve(tmp_path, *turns, env="sandbox", guidance=scripted(tmp_path, "expert", replies), time_limit_s=60.0)
    output = [event.output.text for event in events(trial) if event.type == "action_finished"][-1]
    ticks = [int(line) for line in output.split()]
    gaps = [after - before for before, after in itertools.pairwise(ticks)]
    assert max(gaps) > 1.8e9, "the process ran while the expert was asked"
    assert ticks[-1] - ticks[-4] < 1.5e9, "the process runs again"
    kinds = [(event.type, getattr(event, "why", "")) for event in events(trial)]
    at = kinds.index(("paused", "guidance"))
    assert [kind for kind, _ in kinds[at - 1 : at + 5]] == [
        "question",
        "paused",
        "role_call_started",
        "role_call_finished",
        "answer",
        "resumed",
    ]
    assert summarize(trial, events(trial)).wall_s < 5.0


def test_a_turn_of_ask_in_a_script_is_a_step(tmp_path: Path) -> None:
    trial = solve(tmp_path, {"text": "I am stuck.", "ask": "Which file?"})
    assert sum(isinstance(event, CallFinished) for event in events(trial)) == 2
    assert any(isinstance(event, Paused) for event in events(trial))


def test_a_dry_run_shows_the_expert(tmp_path: Path) -> None:
    (tmp_path / "start").mkdir()
    (tmp_path / "answers.yaml").write_text("- Read the task first.\n")
    options = ("--workspace", "start", "--env", "local", "--model", "nop", "--guidance", "file:answers.yaml")
    result = agent(tmp_path, "solve", "--instruction", "Do it now.", *options, "--dry-run", "--json")
    assert result.status == 0, result.err
    expert = result.json["guidance"]
    assert (expert["by"], expert["file"]["name"], expert["max"], expert["rule"]) == (
        "file",
        "answers.yaml",
        3,
        "no-code",
    )
