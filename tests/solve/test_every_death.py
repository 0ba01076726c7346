"""A harness may die after any event: a record cut off there is resumed to the same end. Real environment, no kills.

The kills themselves, at moments between events, are `scripts/crash-test`'s.
"""

from __future__ import annotations

import json
import random
import shutil
from pathlib import Path

import pytest

from agent.continuation.resume import resuming
from agent.loop.actions import SUBMIT
from scripts.crash_facts import Facts, facts_of
from tests.solve.command import agent, script
from trajectories.checks.check import check
from trajectories.reading.lines import kind_of
from trajectories.reading.reader import read_events
from trajectories.record.events import Message, Resumed


def resume(trial: Path) -> None:
    """Continue a trial as `agent resume` does, with nobody watching."""
    with resuming(trial) as resumption:
        resumption.run()


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A trial with a prompt, a plan, failed tries, several commands a step, format errors, background processes."""
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
    done = agent(work, "solve", "--instruction", "x", *options, "--model", script(work, *turns), "--json")
    assert done.status == 0, done.err
    shutil.rmtree(work / "start")  # nothing of this is needed any more
    (work / "own.yaml").unlink()
    (work / "plan.md").unlink()
    return done.trial


def cut(trial: Path, to: Path, lines: int) -> Path:
    """A copy of a trial whose harness died when it had written so many lines."""
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


def expect(trial: Path, before: Path) -> None:
    expected, found = facts_of(before), facts_of(trial)
    for facts in (expected, found):  # says how many processes live on, which depends on who waited
        facts.observations = {name: text.partition("output:")[2] for name, text in facts.observations.items()}
    assert expected.differences(found) == []
    assert check(trial).first is None, check(trial).first
    messages = [event for event in read_events(trial) if isinstance(event, Message)]
    opening = [event.why for event in messages if event.why in ("system", "task", "plan")]
    assert opening == ["system", "task", "plan"]
    assert messages[0].content.startswith("You are a careful engineer")


def first_snapshot(trial: Path) -> int:
    lines = (trial / "events.jsonl").read_bytes().splitlines()
    return next(number for number, line in enumerate(lines, start=1) if kind_of(line) == "snapshot")


@pytest.mark.parametrize("offset", [0, 1])  # halves, so that two workers share them
def test_after_every_event(finished: Path, tmp_path: Path, offset: int) -> None:
    total = len((finished / "events.jsonl").read_bytes().splitlines())
    for lines in range(first_snapshot(finished) + offset, total + 1, 2):
        trial = cut(finished, tmp_path / str(lines), lines)
        before = (trial / "events.jsonl").read_bytes()
        resume(trial)
        assert (trial / "events.jsonl").read_bytes().startswith(before)
        expect(trial, finished)


def test_again_during_the_resumed_part(finished: Path, tmp_path: Path) -> None:
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
        expect(trial, finished)


def test_the_model_is_told_what_is_lost_and_where_the_workspace_is(finished: Path, tmp_path: Path) -> None:
    lines = (finished / "events.jsonl").read_bytes().splitlines()
    at = next(n for n, line in enumerate(lines, start=1) if b'"action_finished"' in line and b'"3.1"' in line)
    trial = cut(finished, tmp_path / "a", at + 4)
    resume(trial)
    resumed_at = next(
        n
        for n, line in enumerate((trial / "events.jsonl").read_bytes().splitlines(), start=1)
        if kind_of(line) == "resumed"
    )
    trial = cut(trial, tmp_path / "b", resumed_at)  # died before the model was told
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


def test_facts_tell_a_difference(finished: Path, tmp_path: Path) -> None:
    trial = cut(finished, tmp_path, 10_000)
    path = trial / "events.jsonl"
    path.write_bytes(path.read_bytes().replace(b'"input":11', b'"input":12', 1))
    expected: Facts = facts_of(finished)
    assert [line.partition(":")[0] for line in expected.differences(facts_of(trial))] == ["usage"]


def test_a_workspace_without_its_snapshot_must_be_there(finished: Path, tmp_path: Path) -> None:
    trial = cut(finished, tmp_path, first_snapshot(finished) - 1)
    refused = agent(tmp_path, "resume", str(trial))
    assert refused.status == 2
    assert "is no directory" in refused.err
    assert json.loads((trial / "events.jsonl").read_text().splitlines()[0])["type"] == "trial_started"
