"""A record that is cut off after any event is resumed to the same end, as if its harness had died there.

The environment is real, but nothing is killed here: `scripts/crash-test` kills at random moments between events.
"""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
from pathlib import Path

import pytest

from agent.continuation.resume import resuming
from agent.loop.actions import SUBMIT
from scripts.crash_facts import Facts, facts_of
from tests.solve.command import agent, script
from trajectories import interrupts
from trajectories.checks.check import check
from trajectories.reading.lines import kind_of
from trajectories.reading.reader import read_events
from trajectories.record.events import Message, Resumed


def resume(trial: Path) -> None:
    """Continue a trial as `agent resume` does, without its output."""
    with resuming(trial) as resumption:
        resumption.run()


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A trial with its own prompt, a plan, a failed try, a format error and background processes."""
    work = tmp_path_factory.mktemp("finished")
    (work / "start").mkdir()
    (work / "start" / "given").write_text("given\n")
    default = Path(__file__).parents[2] / "prompts" / "default.yaml"
    (work / "own.yaml").write_text(default.read_text().replace("software engineer", "careful engineer"))
    (work / "plan.md").write_text("First one, then two.")
    used = {"input": 11, "output": 3}
    turns = [
        {"commands": ["echo one >>log", "echo two >>log; exit 3"], "usage": used},
        {"fail": {"error": "server_error", "retry_after_s": 0.01}},
        {"text": "no command", "usage": used},
        {
            "commands": ["rm given; ln -s log link; (sleep 30 >/dev/null 2>&1 &)", "printf 'a\\000b'; cat log"],
            "usage": used,
        },
        {"commands": ["cat log", SUBMIT], "usage": used},
    ]
    options = ["--workspace", "start", "--env", "local", "--prompt", "own.yaml", "--plan", "plan.md"]
    result = agent(work, "solve", "--instruction", "x", *options, "--model", script(work, *turns), "--json")
    assert result.status == 0, result.err
    shutil.rmtree(work / "start")  # a resumed trial needs none of these files
    (work / "own.yaml").unlink()
    (work / "plan.md").unlink()
    return result.trial


def cut(trial: Path, to: Path, lines: int) -> Path:
    """Copy a trial as if its harness had died after so many lines of its record; return the copy."""
    batch = to / "runs" / "single"
    batch.mkdir(parents=True)
    copy = Path(shutil.copytree(trial, batch / trial.name))
    kept = (copy / "events.jsonl").read_bytes().splitlines(keepends=True)[:lines]
    (copy / "events.jsonl").write_bytes(b"".join(kept))
    if not any(kind_of(line) == "workspace_exported" for line in kept):
        (copy / "workspace.tar.zst").write_bytes(b"half")
    for name in ("trial.json", "verdict.json", "score.json"):
        (copy / name).unlink(missing_ok=True)
    return copy


def assert_same_end(trial: Path, undisturbed: Path) -> None:
    """Check that a resumed trial is consistent and ended like the undisturbed one."""
    expected, actual = facts_of(undisturbed), facts_of(trial)
    for facts in (expected, actual):  # the line before the output counts live processes, which depends on timing
        facts.observations = {name: text.partition("output:")[2] for name, text in facts.observations.items()}
    assert expected.differences(actual) == []
    assert check(trial).first is None, check(trial).first
    messages = [event for event in read_events(trial) if isinstance(event, Message)]
    opening = [event.why for event in messages if event.why in ("system", "task", "plan")]
    assert opening == ["system", "task", "plan"]
    assert messages[0].content.startswith("You are a careful engineer")


def first_snapshot(trial: Path) -> int:
    """Return the number of the line of the first snapshot."""
    lines = (trial / "events.jsonl").read_bytes().splitlines()
    return next(number for number, line in enumerate(lines, start=1) if kind_of(line) == "snapshot")


@pytest.mark.parametrize("offset", [0, pytest.param(1, marks=pytest.mark.slow)])  # every second event, and the others
def test_a_trial_cut_off_after_any_event_is_resumed_to_the_same_end(
    finished: Path, tmp_path: Path, offset: int
) -> None:
    total = len((finished / "events.jsonl").read_bytes().splitlines())
    for lines in range(first_snapshot(finished) + offset, total + 1, 2):
        trial = cut(finished, tmp_path / str(lines), lines)
        before = (trial / "events.jsonl").read_bytes()
        resume(trial)
        assert (trial / "events.jsonl").read_bytes().startswith(before)
        assert_same_end(trial, finished)


def test_a_trial_cut_off_three_times_is_resumed_to_the_same_end(finished: Path, tmp_path: Path) -> None:
    chance = random.Random(4)
    total = len((finished / "events.jsonl").read_bytes().splitlines())
    for number in range(6):
        trial = cut(finished, tmp_path / f"{number}-0", chance.randint(first_snapshot(finished), total - 3))
        for again in range(1, 3):
            size = len((trial / "events.jsonl").read_bytes().splitlines())
            resume(trial)
            longer = len((trial / "events.jsonl").read_bytes().splitlines())
            trial = cut(trial, tmp_path / f"{number}-{again}", chance.randint(size, longer))
        resume(trial)
        assert_same_end(trial, finished)


def test_the_model_gets_one_notice_with_the_losses_and_the_new_directory(finished: Path, tmp_path: Path) -> None:
    lines = (finished / "events.jsonl").read_bytes().splitlines()
    number = next(n for n, line in enumerate(lines, start=1) if b'"action_finished"' in line and b'"3.1"' in line)
    trial = cut(finished, tmp_path / "a", number + 4)
    resume(trial)
    lines = (trial / "events.jsonl").read_bytes().splitlines()
    number = next(n for n, line in enumerate(lines, start=1) if kind_of(line) == "resumed")
    trial = cut(trial, tmp_path / "b", number)  # the harness died before the model got the notice
    resume(trial)
    events = list(read_events(trial))
    resumed = [event for event in events if isinstance(event, Resumed)]
    (notice,) = (event.content for event in events if isinstance(event, Message) and event.why == "notice")
    assert len(resumed) == 2
    workdirs = [event.workdir for event in events if event.type == "env_started"]
    assert f"the workspace is {workdirs[-1]} now" in notice
    assert workdirs[0] in notice
    assert "background processes of 3.1" in notice
    assert "\n" not in notice


def test_a_changed_usage_is_a_difference_of_facts(finished: Path, tmp_path: Path) -> None:
    trial = cut(finished, tmp_path, 10_000)
    path = trial / "events.jsonl"
    path.write_bytes(path.read_bytes().replace(b'"input":11', b'"input":12', 1))
    expected: Facts = facts_of(finished)
    assert [line.partition(":")[0] for line in expected.differences(facts_of(trial))] == ["usage"]


def test_a_trial_without_a_snapshot_is_not_resumed_if_its_start_directory_is_gone(
    finished: Path, tmp_path: Path
) -> None:
    trial = cut(finished, tmp_path, first_snapshot(finished) - 1)
    result = agent(tmp_path, "resume", str(trial))
    assert result.status == 2
    assert "is not a directory" in result.err
    assert json.loads((trial / "events.jsonl").read_text().splitlines()[0])["type"] == "trial_started"


def test_an_interrupt_while_a_trial_is_resolved_is_not_held_back(finished: Path, tmp_path: Path) -> None:
    trial = cut(finished, tmp_path, first_snapshot(finished))
    before = (trial / "events.jsonl").read_bytes()
    handlers = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)}
    signal.signal(signal.SIGINT, signal.default_int_handler)
    interrupts.install()
    try:
        with interrupts.held():
            os.kill(os.getpid(), signal.SIGINT)
            with pytest.raises(KeyboardInterrupt), resuming(trial):
                pytest.fail("the trial was resolved all the same")
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)
    assert (trial / "events.jsonl").read_bytes() == before
