"""Guided trials from their options to their record: the expert, the clock, resumption, forks, replays and secrets."""

from __future__ import annotations

import hashlib
import itertools
import shutil
from pathlib import Path
from typing import Any

import pytest

from agent.errors import UserError
from agent.trial.resolve import resolve
from tests.solve.guided import (
    ANSWERS,
    answers,
    branch,
    events,
    file_of_answers,
    options,
    questions,
    resume,
    scripted,
    solve,
    told,
)
from trajectories.checks.check import check
from trajectories.reading.lines import kind_of
from trajectories.reading.summary import summarize
from trajectories.record.events import CallFinished, Exited, Message, Paused, RoleCallFinished, RoleCallStarted

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


def cut_off(trial: Path, to: Path, count: int) -> Path:
    """Copy a trial as if its harness had died after so many events."""
    copy = to / trial.name
    shutil.copytree(trial, copy)
    lines = (trial / "events.jsonl").read_bytes().splitlines(keepends=True)
    (copy / "events.jsonl").write_bytes(b"".join(lines[:count]))
    for derived in ("trial.json", "steps.jsonl", "workspace.tar.zst"):
        (copy / derived).unlink(missing_ok=True)
    return copy


@pytest.mark.parametrize("question", [1, pytest.param(2, marks=pytest.mark.slow)])
def test_a_trial_that_dies_anywhere_around_a_question_is_resumed_with_the_same_answers(
    tmp_path: Path, question: int
) -> None:
    used: list[Any] = [{"ask": "Which file?"}, "echo one >>log", {"ask": "And then?"}]
    trial = solve(tmp_path, *used)
    expected = (questions(trial), answers(trial), told(trial))
    (tmp_path / "answers.json").unlink()  # its content is kept with the trial
    lines = (trial / "events.jsonl").read_bytes().splitlines(keepends=True)
    kinds = [kind_of(line) for line in lines]
    first = [number for number, kind in enumerate(kinds) if kind == "question"][question - 1]
    assert kinds[first : first + 5] == ["question", "paused", "answer", "resumed", "message"]
    for count in range(first, first + 6):
        copy = cut_off(trial, tmp_path / f"runs-{count}" / "single", count)
        resume(copy)
        assert (questions(copy), answers(copy), told(copy)) == expected, f"after {count} events"
        assert check(copy).consistent, (count, check(copy).first)


@pytest.mark.parametrize("expert", ["file:answers.json", "script:expert.json"])
def test_an_expert_by_a_relative_path_is_the_same_one_in_another_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, expert: str
) -> None:
    file_of_answers(tmp_path, *ANSWERS)
    scripted(tmp_path, "expert", [{"text": "Read it."}])
    monkeypatch.chdir(tmp_path)
    trial = solve(tmp_path, WORK[1], guidance=expert)
    number = next(n for n, event in enumerate(events(trial)) if event.type == "question") + 1
    copy = cut_off(trial, tmp_path / "elsewhere" / "single", number)
    monkeypatch.chdir("/")
    resume(copy)
    assert answers(copy) == answers(trial)
    assert events(branch(copy, 0))[0].guidance == events(trial)[0].guidance


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


def test_an_expert_that_is_down_ends_the_trial_and_is_asked_again_when_it_is_resumed(tmp_path: Path) -> None:
    down = [{"fail": {"error": "authentication", "detail": "the key is wrong"}}]
    expert = scripted(tmp_path, "expert", down)
    trial = solve(tmp_path, *WORK[:2], guidance=expert)
    exit = next(event for event in events(trial) if isinstance(event, Exited)).exit
    assert (exit.reason, exit.cause) == ("infrastructure", "model_unavailable")
    assert "the key is wrong" in exit.detail
    assert answers(trial) == []
    before = hashlib.sha256((tmp_path / "expert.json").read_bytes()).hexdigest()
    scripted(tmp_path, "expert", [{"text": "Read the given file."}])
    with pytest.raises(UserError, match="the expert has changed"):
        resume(trial)
    after = hashlib.sha256((tmp_path / "expert.json").read_bytes()).hexdigest()
    record = (trial / "events.jsonl").read_text()
    (trial / "events.jsonl").write_text(record.replace(before, after))  # as if it were the same script, up again
    resume(trial)
    assert questions(trial) == [(1, "Which file?", 3)]
    assert answers(trial) == [(1, 1, "given", "Read the given file.")]
    calls = [event.call for event in events(trial) if isinstance(event, RoleCallStarted)]
    assert calls == list(range(1, len(calls) + 1))
    assert check(trial).consistent, check(trial).first


def test_a_fork_inherits_answers_as_conversation_and_asks_from_the_first_question_on(tmp_path: Path) -> None:
    parent = solve(tmp_path, *WORK, max_interventions=2)
    child = branch(parent, 2)
    assert questions(child) == [(1, "And then?", 2)]
    assert answers(child) == [(1, 1, "given", ANSWERS[0])]
    inherited = [event for event in events(child) if isinstance(event, Message) and event.inherited]
    assert [event.why for event in inherited] == ["system", "task", "observation", "answer"]
    own = [event.why for event in events(child) if isinstance(event, Message) and not event.inherited]
    assert own[:2] == ["notice", "guidance"]
    assert events(child)[0].guidance == events(parent)[0].guidance
    assert check(child).consistent, check(child).first


def test_a_fork_may_have_another_expert_or_none(tmp_path: Path) -> None:
    parent = solve(tmp_path, *WORK)
    other = branch(parent, 3, guidance=scripted(tmp_path, "expert", [{"text": "Stop here."}]), guidance_rule=None)
    assert answers(other) == [(1, 1, "given", "Stop here.")]
    alone = branch(parent, 3, guidance=None)
    assert events(alone)[0].guidance is None
    errors = [event.content for event in events(alone) if isinstance(event, Message) and event.why == "format_error"]
    assert "there is no tool 'ask', only bash" in errors[0]


def test_a_replay_of_its_replies_gets_the_recorded_answers_and_asks_nobody(tmp_path: Path) -> None:
    code = "total = total + 1"
    replies = [{"text": code}, {"text": "Raise the sum."}]
    original = solve(tmp_path, *WORK, guidance=scripted(tmp_path, "expert", replies), max_interventions=1)
    (tmp_path / "expert.json").unlink()
    copy = solve(tmp_path, model=f"replay:{original}", guidance=None)
    assert told(copy) == told(original)
    assert answers(copy) == [(1, 1, "given", "Raise the sum."), (2, 1, "nobody", "")]
    assert events(copy)[0].guidance == events(original)[0].guidance
    assert not any(isinstance(event, RoleCallStarted) for event in events(copy))


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
    assert ticks[-1] - ticks[ticks.index(max(ticks)) - 3] < 1.5e9, "the process runs again"
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
