"""`agent solve --self-correct`: turns in one environment, each told the result of the one before."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from agent.loop.actions import SUBMIT
from tests.solve.chains import A_PART, feedback, folders, make_task, messages, passed, solve
from tests.solve.command import AGENT, agent, environment, script
from trajectories.checks.check import check
from trajectories.reading.reader import first_event, read_events
from trajectories.record.events import ActionFinished, EnvStarted

pytestmark = pytest.mark.sandbox


@pytest.fixture
def work(tmp_path: Path) -> Path:
    make_task(tmp_path)
    return tmp_path


def test_each_turn_is_a_trial_that_continues_in_the_environment_of_the_one_before(work: Path) -> None:
    result = solve(work, A_PART, SUBMIT)
    assert result.status == 0, result.err
    first, second, third = folders(result)
    assert (second.name, third.name) == (f"{first.name}.t2", f"{first.name}.t3")
    assert passed(result) == [1, 2, 2]
    starts = [first_event(turn) for turn in (first, second, third)]
    assert [start.turn for start in starts] == [1, 2, 3]
    assert {start.attempt for start in starts} == {1}
    assert len({start.identity for start in starts}) == 3
    assert {start.mode for start in starts} == {"self-correction"}
    assert len({start.model.asked for start in starts}) == 1
    chain = starts[0].chain
    assert chain is not None
    assert (chain.first, chain.turns, chain.feedback) == (first.name, 3, "output")
    assert all(start.chain == chain for start in starts)
    continued = [next(e.continues for e in read_events(turn) if isinstance(e, EnvStarted)) for turn in folders(result)]
    assert continued == [None, first.name, second.name]
    assert all(check(turn).first is None for turn in folders(result))
    assert "pausing the environment" in result.err


def test_a_turn_gets_the_feedback_as_files_and_as_a_message_of_a_new_conversation(work: Path) -> None:
    result = solve(work, "id -u; ls -l /feedback /feedback/*; touch /feedback/turn-1/x || rm -f /feedback/*/*", SUBMIT)
    _, second, third = folders(result)
    assert [event.turn for event in feedback(third)] == [1, 2]
    (message,) = messages(second, "feedback")
    assert "turn 2 of 3" in message
    assert "/feedback/turn-1/" in message
    assert len(messages(third, "feedback")) == 1
    assert len(messages(third, "task")) == 1
    listing = next(e.output.text for e in read_events(third) if isinstance(e, ActionFinished))
    names = {file.path for event in feedback(third) for file in event.files}
    assert names
    assert all(name in listing for name in names)
    assert "drwxr-xr-x" in listing
    assert listing.count("-r--r--r--") == sum(len(event.files) for event in feedback(third)), "no turn removed one"


def test_the_conversation_may_go_on(work: Path) -> None:
    turns = [A_PART, SUBMIT, A_PART, SUBMIT, A_PART, SUBMIT]
    result = solve(work, *turns, options=["--conversation", "same", "--feedback", "scores"])
    assert passed(result) == [1, 2, 2]
    _, second, third = folders(result)
    assert len(messages(third, "system")) == 1
    assert len(messages(third, "feedback")) == 2
    inherited = [e.content for e in read_events(second) if e.type == "message" and e.inherited]
    assert inherited[0] == messages(second, "system")[0]
    assert all(check(turn).first is None for turn in folders(result))


def test_the_chain_may_end_after_a_turn_that_passes(work: Path) -> None:
    result = solve(work, A_PART, SUBMIT, options=["--self-correct-until", "passed"])
    assert passed(result) == [1, 2]
    again = agent(work, "resume", str(folders(result)[1]), "--json")
    assert again.status == 0
    assert "is finished (2 of 3 turns)" in again.err
    assert len(again.json["trials"]) == 2


def test_limits_hold_for_each_turn_and_a_turn_that_hit_one_is_evaluated(work: Path) -> None:
    result = solve(work, "printf 1 >one", "printf 2 >two", options=["--step-limit", "1"])
    assert result.status == 0, result.err
    assert passed(result) == [1, 1, 1]
    assert {trial["exit"]["cause"] for trial in result.json["trials"]} == {"steps"}


def test_two_attempts_are_two_chains(work: Path) -> None:
    result = solve(work, SUBMIT, options=["--attempts", "2"])
    starts = [first_event(turn) for turn in folders(result)]
    assert [(start.attempt, start.turn) for start in starts] == [(1, 1), (1, 2), (1, 3), (2, 1), (2, 2), (2, 3)]


def test_a_process_that_a_turn_left_running_is_there_in_the_next_one(work: Path) -> None:
    command = "cat pid 2>/dev/null && kill -0 $(cat pid) && echo alive; (sleep 300 >/dev/null 2>&1 & echo $! >pid)"
    result = solve(work, command, SUBMIT)
    outputs = [next(e.output.text for e in read_events(t) if isinstance(e, ActionFinished)) for t in folders(result)]
    assert ["alive" in output for output in outputs] == [False, True, True]


def test_a_fork_of_a_turn_is_an_ordinary_trial_that_has_the_feedback(work: Path) -> None:
    third = folders(solve(work, A_PART, SUBMIT))[2]
    look = script(work, A_PART, A_PART, "cat /feedback/turn-2/*", SUBMIT)
    fork = agent(work, "fork", str(third), "--at", "1", "--model", look, "--json")
    assert fork.status == 0, fork.err
    start = first_event(fork.trial)
    assert (start.turn, start.chain, start.mode) == (None, None, "base")
    assert [event.turn for event in feedback(fork.trial)] == [1, 2]
    of_fork = agent(work, "fork", str(fork.trial), "--at", "1", "--model", look, "--json")
    outputs = [e.output.text for e in read_events(of_fork.trial) if isinstance(e, ActionFinished)]
    assert "2 passed" in outputs[-1]
    assert check(of_fork.trial).first is None


def test_a_turn_is_replayed_with_its_feedback(work: Path) -> None:
    second = folders(solve(work, A_PART, SUBMIT))[1]
    replay = agent(work, "replay", str(second), "--json")
    assert replay.status == 0, replay.out + replay.err
    assert json.loads(replay.out)["workspace_equal"] is True


def test_a_person_plays_the_turns_and_is_told_while_the_work_is_evaluated(work: Path) -> None:
    argv = ["--task", "mine", "--env", "sandbox", "--self-correct", "2", "--model", "human", "--feedback", "failing"]
    typed = "printf 1 >one\n:submit\ncat /feedback/turn-1/failing.txt\nprintf 2 >two\n:submit\n"
    played = subprocess.run(
        [*AGENT, "solve", *argv], cwd=work, env=environment(work), input=typed, capture_output=True, text=True
    )
    assert played.returncode == 0, played.stderr
    told = [line for line in played.stderr.splitlines() if line.startswith("turn ")]
    turns = [f"turn {turn} of 2{rest}" for turn in (1, 2) for rest in ("", ": evaluating with path")]
    assert told == turns
    assert played.stdout.count("verdict: ") == 2
    assert "verdict: passed" in played.stdout
