"""A trial whose container ended for memory goes on in a new one, once in a step.

The kernel itself ends these containers: from outside, their first process is made the preferred victim.
"""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from agent.loop.actions import SUBMIT
from environments.docker import daemon
from tests.environments import conftest as environments
from tests.solve.command import AGENT, CommandResult, agent, environment, script
from tests.solve.test_every_death import resume
from trajectories.reading.lines import kind_of
from trajectories.reading.reader import read_events
from trajectories.record.events import ActionFinished, EnvStarted, Event, Exited, Message, Resumed, Warned

pytestmark = pytest.mark.docker

PREFERRED = "until read -r score </proc/1/oom_score_adj && ((score == 1000)); do sleep 0.02; done; "
"""Waits until the test has made the first process the preferred victim."""
HUNGRY = "for i in {1..40}; do perl -e '$x = q(a) x 5_000_000; sleep 5' & done; wait"
"""Takes all memory in pieces that are too small to be preferred to a preferred process."""
ENDS = f"{PREFERRED} echo lost >lost; {HUNGRY}"


@pytest.fixture(scope="module")
def image() -> str:
    return environments.made_image()


@pytest.fixture
def task(tmp_path: Path, image: str) -> Path:
    directory = tmp_path / "hungry"
    (directory / "workspace").mkdir(parents=True)
    (directory / "workspace" / "given").write_text("given\n")
    (directory / "instruction.md").write_text("x\n")
    (directory / "task.yaml").write_text(
        f"title: T\nkind: repair\nenvironments: [docker]\nimage: {{reference: {image!r}}}\nresources: {{memory: 64m}}\n"
    )
    return directory


def prefer(container: str) -> None:
    """Make the first process of a container the first that the kernel kills for memory."""
    pid = daemon.connect().inspect_container(container)["State"]["Pid"]
    try:
        Path(f"/proc/{pid}/oom_score_adj").write_text("1000")
    except PermissionError as error:
        pytest.skip(f"the container's processes cannot be reached from here ({error})")


def solve(work: Path, task: Path, *turns: object) -> CommandResult:
    """Run a trial; each of its containers can be ended by an action."""
    argv = ["solve", "--task", str(task), "--model", script(work, *turns), "--no-evaluate", "--json"]
    process = subprocess.Popen(
        [*AGENT, *argv], cwd=work, env=environment(work), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    preferred: set[str] = set()
    until = time.monotonic() + 120
    while process.poll() is None:
        assert time.monotonic() < until
        for path in work.glob("runs/*/*/events.jsonl"):
            if "env_started" in path.read_text():
                for container in containers(read_events(path.parent)) - preferred:
                    with suppress(OSError, LookupError):
                        prefer(container)
                        preferred.add(container)
        time.sleep(0.02)
    out, err = process.communicate()
    return CommandResult(work, process.returncode, out, err)


def containers(events: Iterator[Event]) -> set[str]:
    return {str(event.container) for event in events if isinstance(event, EnvStarted)}


def ends(result: CommandResult) -> list[tuple[str, str, bool]]:
    finished = [event for event in result.events if isinstance(event, ActionFinished)]
    return [(event.action, event.ended, event.ended_environment) for event in finished]


def test_a_trial_goes_on_after_its_container_ended_for_memory(tmp_path: Path, task: Path) -> None:
    result = solve(
        tmp_path,
        task,
        "echo one >>log; (sleep 77 >/dev/null 2>&1 &); echo x >/tmp/outside",
        ["echo two >>log", ENDS, "echo three >>log"],
        "cat log; ls; ls /tmp",
        SUBMIT,
    )
    assert (result.status, result.json["exit"]["cause"], result.json["steps"]) == (0, "submitted", 4), result.err
    assert ends(result) == [
        ("1.1", "exited", False),
        ("2.1", "exited", False),
        ("2.2", "oom", True),
        ("2.3", "exited", False),
        ("3.1", "exited", False),
    ]
    events = result.events
    events = [event for event in events if not (isinstance(event, Warned) and event.kind == "limit_lowered")]
    kinds = [event.type for event in events]
    at = next(i for i, event in enumerate(events) if isinstance(event, ActionFinished) and event.ended_environment)
    assert kinds[at - 1 : at + 5] == ["warning", "action_finished", "paused", "env_started", "resumed", "message"]
    (resumed,) = (event for event in events if isinstance(event, Resumed))
    assert (resumed.restored_step, resumed.rerun) == (1, ("2.1",))
    messages = {event.action or event.why: event.content for event in events if isinstance(event, Message)}
    assert messages["2.2"].startswith("killed: out of memory")
    for loss in ("what took the whole memory", "background processes of 1.1: 1", "files outside of the workspace"):
        assert loss in messages["notice"]
    lines = messages["3.1"].splitlines()
    assert lines[lines.index("one") :] == ["one", "two", "three", "given", "log"]
    assert agent(tmp_path, "show", str(result.trial), "--check").status == 0
    assert "resumed" in agent(tmp_path, "show", str(result.trial)).out


def test_the_second_end_in_a_step_ends_the_trial_with_its_reason(tmp_path: Path, task: Path) -> None:
    result = solve(tmp_path, task, "echo one >>log", [ENDS, ENDS], "echo never", SUBMIT)
    assert (result.status, result.json["exit"]["cause"]) == (1, "environment_lost"), result.err
    assert "at action 2.2: container" in result.json["exit"]["detail"]
    assert "ended for memory" in result.json["exit"]["detail"]
    assert ends(result)[1:] == [("2.1", "oom", True), ("2.2", "environment_lost", False)]
    assert agent(tmp_path, "show", str(result.trial), "--check").status == 0


def test_it_may_happen_again_in_a_later_step(tmp_path: Path, task: Path) -> None:
    result = solve(tmp_path, task, ENDS, ENDS, "ls", SUBMIT)
    assert (result.status, result.json["exit"]["cause"]) == (0, "submitted"), result.err
    assert [end for end in ends(result) if end[2]] == [("1.1", "oom", True), ("2.1", "oom", True)]


def test_a_background_process_that_ends_the_container_between_two_steps(tmp_path: Path, task: Path) -> None:
    later = f"echo one >>log; ({PREFERRED} sleep 0.3; {HUNGRY}) >/dev/null 2>&1 &"
    result = solve(tmp_path, task, later, "sleep 5", "cat log", SUBMIT)
    assert (result.status, result.json["exit"]["cause"]) == (0, "submitted"), result.err
    assert agent(tmp_path, "show", str(result.trial), "--check").status == 0


def test_such_a_record_is_replayed_forked_and_resumed_from_every_event(tmp_path: Path, task: Path) -> None:
    turns = ["echo one >>log", ["echo two >>log", ENDS, "echo three >>log"], "cat log", SUBMIT]
    result = solve(tmp_path, task, *turns)
    assert result.status == 0, result.err
    replay = agent(tmp_path, "replay", str(result.trial), "--json")
    assert replay.json["not_replayed"] == ["2.2"], replay.out
    assert replay.json["workspace_equal"] is True
    for step, lines in ((1, "one\n"), (2, "one\ntwo\nthree\n")):
        model = script(tmp_path, *["-"] * step, "cat log", SUBMIT)
        fork = agent(tmp_path, "fork", str(result.trial), "--at", str(step), "--model", model, "--json")
        assert fork.status == 0, fork.err
        (shown,) = (event for event in fork.events if isinstance(event, ActionFinished))
        assert shown.output.text == lines
    lines = (result.trial / "events.jsonl").read_bytes().splitlines(keepends=True)
    kinds = [kind_of(line) for line in lines]
    first = next(i for i, line in enumerate(lines) if b'"ended_environment":true' in line)
    for end in range(first, kinds.index("snapshot", first) + 1):
        trial = tmp_path / "runs" / "cut" / f"at-{end}"
        trial.mkdir(parents=True)
        subprocess.run(["cp", "-r", f"{result.trial}/blobs", f"{trial}/blobs"], check=False, stderr=subprocess.DEVNULL)
        (trial / "events.jsonl").write_bytes(b"".join(lines[: end + 1]))
        resume(trial)
        events = list(read_events(trial))
        (exit,) = (event.exit for event in events if isinstance(event, Exited))
        assert exit.cause == "submitted", (end, kinds[end], exit)
        last = [event for event in events if isinstance(event, ActionFinished)][-1]
        assert last.output.text == "one\ntwo\nthree\n", (end, kinds[end])
        assert agent(tmp_path, "show", str(trial), "--check").status == 0, (end, kinds[end])


def test_another_loss_still_ends_the_trial(tmp_path: Path, task: Path) -> None:
    """Only the container's own memory is a reason to go on; a killed container is the host's affair."""
    model = script(tmp_path, "echo one >>log", "sleep 60", SUBMIT)
    argv = ["solve", "--task", str(task), "--model", model, "--no-evaluate", "--json"]
    process = subprocess.Popen(
        [*AGENT, *argv], cwd=tmp_path, env=environment(tmp_path), stdout=subprocess.PIPE, text=True
    )
    until = time.monotonic() + 60
    while not (running := [p for p in tmp_path.glob("runs/*/*/events.jsonl") if '"action":"2.1"' in p.read_text()]):
        assert time.monotonic() < until
        time.sleep(0.02)
    (container,) = containers(read_events(running[0].parent))
    os.kill(daemon.connect().inspect_container(container)["State"]["Pid"], 9)
    out, _ = process.communicate(timeout=60)
    result = CommandResult(tmp_path, process.returncode, out, "")
    assert (result.status, result.json["exit"]["cause"]) == (1, "environment_lost")
    assert result.json["exit"]["detail"].startswith("at action 2.1: container")
    assert sum(isinstance(event, Warned) and event.kind == "environment_lost" for event in result.events) == 1
    assert not any(isinstance(event, Resumed) for event in result.events)
