"""Guided trials that continue: resumed, forked, replayed, and in a chain of turns."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import pytest

from agent.errors import UserError
from agent.loop.actions import SUBMIT
from tests.solve.chains import A_PART, folders, make_task, solve as chain_of_turns
from tests.solve.guided import (
    ANSWERS,
    answers,
    branch,
    events,
    file_of_answers,
    questions,
    resume,
    scripted,
    solve,
    told,
)
from tests.solve.test_every_death import cut
from trajectories.checks.check import check
from trajectories.reading.lines import kind_of
from trajectories.record.events import Exited, Message, RoleCallStarted

WORK = ("echo one >>log", {"ask": "Which file?"}, "echo two >>log", {"ask": "And then?"})


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
        copy = cut(trial, tmp_path / f"after-{count}", count)
        resume(copy)
        assert (questions(copy), answers(copy), told(copy)) == expected, f"after {count} events"
        assert check(copy).consistent, (count, check(copy).first)


@pytest.mark.parametrize("code", [0, 1])
def test_a_reply_that_came_before_the_process_died_is_judged_and_not_paid_for_again(tmp_path: Path, code: int) -> None:
    replies = [{"text": text} for text in (*["x = read(given)"] * code, "Read it.", "Asked once too often.")]
    trial = solve(tmp_path, WORK[1], guidance=scripted(tmp_path, "expert", replies))
    kinds = [event.type for event in events(trial)]
    assert kinds.count("role_call_finished") == code + 1
    for count, kind in enumerate(kinds, 1):
        if kind == "role_call_finished":
            copy = cut(trial, tmp_path / f"after-{count}", count)
            resume(copy)
            assert (answers(copy), told(copy)) == (answers(trial), told(trial))
            assert [event.type for event in events(copy)].count("role_call_finished") == code + 1
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
    copy = cut(trial, tmp_path / "elsewhere", number)
    monkeypatch.chdir("/")
    resume(copy)
    assert answers(copy) == answers(trial)
    assert events(branch(copy, 0))[0].guidance == events(trial)[0].guidance


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


@pytest.mark.sandbox
@pytest.mark.parametrize("conversation", ["fresh", "same"])
def test_each_turn_of_a_chain_has_all_questions(tmp_path: Path, conversation: str) -> None:
    make_task(tmp_path)
    (tmp_path / "answers.yaml").write_text("- Read the task first.\n- Count the files.\n")
    turn: list[Any] = [{"ask": "Where?"}, {"ask": "And then?"}, A_PART, SUBMIT]
    options = ("--self-correct-until", "passed", "--conversation", conversation, "--max-interventions", "1")
    turns = turn if conversation == "fresh" else [*turn, *turn]
    result = chain_of_turns(tmp_path, *turns, options=("--guidance", "file:answers.yaml", *options))
    assert result.status == 0, result.err
    first, second = folders(result)
    for trial in (first, second):
        assert questions(trial) == [(1, "Where?", 1), (2, "And then?", 0)]
        assert answers(trial) == [(1, 1, "given", "Read the task first."), (2, 1, "nobody", "")]
        assert check(trial).consistent, check(trial).first
        whys = [event.why for event in events(trial) if isinstance(event, Message) and not event.inherited]
        assert whys.count("guidance") == 1
    assert events(second)[0].mode == "self-correction-and-interactive"
    assert events(second)[0].guidance == events(first)[0].guidance
