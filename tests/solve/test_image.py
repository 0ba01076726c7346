"""Faults of a task's image are found before the model is asked for the first time, and its WORKDIR is honored."""

from __future__ import annotations

import os
import subprocess
import uuid
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest

from agent.loop.actions import SUBMIT
from tests.environments import conftest as environments
from tests.solve.command import CommandResult, agent, script
from trajectories.record.events import ActionFinished, CallStarted, Checkpoint, EnvStarted, Message

pytestmark = pytest.mark.docker


@pytest.fixture(scope="module")
def lean() -> str:
    """An image with a user and perl, but without python3 (Debian's minbase)."""
    return environments.made_image()


def task(work: Path, image: str, evaluation: str = "{}", **files: str) -> Path:
    directory = work / "mine"
    (directory / "tests").mkdir(parents=True)
    (directory / "tests" / "test_it.py").write_text("def test_it(candidate):\n    pass\n")
    (directory / "instruction.md").write_text("x\n")
    for name, text in files.items():
        (directory / "image").mkdir(exist_ok=True)
        (directory / "image" / name).write_text(text)
    (directory / "task.yaml").write_text(
        f"title: T\nkind: repair\nenvironments: [docker]\nimage: {image}\nevaluation: {evaluation}\n"
    )
    return directory


def solve(work: Path, directory: Path, *options: str) -> CommandResult:
    model = script(work, "echo hello", SUBMIT)
    return agent(work, "solve", "--task", str(directory), "--model", model, "--json", *options)


def assert_ended_before_the_model(result: CommandResult, reason: str) -> None:
    assert (result.status, result.json["exit"]["cause"]) == (1, "image_unusable"), result.err
    assert reason in result.json["exit"]["detail"]
    assert not any(isinstance(event, CallStarted) for event in result.events)


def test_an_image_without_python3_is_refused_before_the_model_is_asked(tmp_path: Path, lean: str) -> None:
    directory = task(tmp_path, f"{{reference: '{lean}'}}")
    assert_ended_before_the_model(solve(tmp_path, directory), f"the image {lean} has no python3; add that to the image")


def test_an_image_without_pytest_is_refused_before_the_model_is_asked(tmp_path: Path, lean: str) -> None:
    dockerfile = (
        f"FROM {lean}\nUSER root\nRUN printf '#!/bin/sh\\nexit 3\\n' >/usr/bin/python3 && chmod 755 /usr/bin/python3\n"
    )
    directory = task(tmp_path, "{build: {context: image}}", Dockerfile=dockerfile)
    assert_ended_before_the_model(solve(tmp_path, directory), "has no pytest for python3")


def test_an_image_without_the_program_that_starts_the_candidate_is_refused(tmp_path: Path, lean: str) -> None:
    directory = task(tmp_path, f"{{reference: '{lean}'}}", "{program: [ruby, '{workspace}/it.rb']}")
    assert_ended_before_the_model(solve(tmp_path, directory), "has no python3 and no ruby")


def test_an_image_that_does_not_build_is_found_before_the_model_is_asked(tmp_path: Path, lean: str) -> None:
    directory = task(tmp_path, "{build: {context: image}}", Dockerfile=f"FROM {lean}\nRUN echo broken; exit 7\n")
    result = solve(tmp_path, directory)
    assert_ended_before_the_model(result, "returned a non-zero code: 7")
    assert not any(isinstance(event, EnvStarted) for event in result.events)


def test_a_trial_that_is_not_evaluated_needs_nothing_of_the_suite(tmp_path: Path, lean: str) -> None:
    directory = task(tmp_path, f"{{reference: '{lean}'}}")
    result = solve(tmp_path, directory, "--no-evaluate")
    assert (result.status, result.json["exit"]["cause"]) == (0, "submitted")
    assert sum(isinstance(event, ActionFinished) for event in result.events) == 1


@pytest.fixture
def image_in(lean: str) -> Iterator[Callable[[str], str]]:
    """Returns a function that makes an image whose WORKDIR is a directory, whether or not that exists."""
    made: list[str] = []

    def make(workdir: str) -> str:
        container = docker("create", lean, "true")
        tag = f"retrace-test-workdir:{os.getpid()}-{len(made)}"
        try:
            docker("commit", "--change", f"WORKDIR {workdir}", container, tag)
        finally:
            docker("rm", container)
        made.append(tag)
        return tag

    yield make
    for tag in made:
        docker("rmi", tag)


def docker(*words: str) -> str:
    return subprocess.run(["docker", *words], check=True, capture_output=True, text=True).stdout.strip()


def solve_in(work: Path, image: str, *turns: str, options: Sequence[str] = ()) -> CommandResult:
    argv = ["--instruction", "x", "--image", image, "--model", script(work, *turns), "--json", *options]
    return agent(work, "solve", *argv)


@pytest.mark.parametrize(
    ("workdir", "expected"),
    [
        ("/opt/tool", "/opt/tool"),
        ("/opt/not there/yet", "/opt/not there/yet"),
        ("/home/agent", "/home/agent"),
        ("/", "/workspace"),
    ],
    ids=["there", "not there", "a home", "the root"],
)
def test_commands_run_in_the_directory_of_the_image(
    tmp_path: Path, image_in: Callable[[str], str], workdir: str, expected: str
) -> None:
    result = solve_in(tmp_path, image_in(workdir), "pwd; ls", SUBMIT)
    assert result.status == 0, result.err
    (started,) = (event for event in result.events if isinstance(event, EnvStarted))
    (action,) = (event for event in result.events if isinstance(event, ActionFinished))
    assert (started.workdir, action.output.text.splitlines()[0]) == (expected, expected)
    assert (workdir != "/opt/tool") or "bin" in action.output.text
    task = next(event for event in result.events if isinstance(event, Message) and event.why == "task")
    assert expected in task.content


def test_an_image_without_a_directory_of_its_own_gets_the_usual_one(tmp_path: Path, lean: str) -> None:
    result = solve_in(tmp_path, lean, "pwd", SUBMIT)
    (action,) = (event for event in result.events if isinstance(event, ActionFinished))
    assert action.output.text == "/workspace\n"


def test_the_directory_of_the_image_is_that_of_forks_replays_and_checkpoints(
    tmp_path: Path, image_in: Callable[[str], str]
) -> None:
    image = image_in("/home/agent/work")
    parent = solve_in(tmp_path, image, "echo one >log", "cat log", SUBMIT, options=["--checkpoint-every", "1"])
    assert parent.status == 0, parent.err
    model = script(tmp_path, "-", "pwd; cat log", SUBMIT)
    child = agent(tmp_path, "fork", str(parent.trial), "--at", "1", "--model", model, "--json")
    (action,) = (event for event in child.events if isinstance(event, ActionFinished))
    assert action.output.text == "/home/agent/work\none\n"
    replay = agent(tmp_path, "replay", str(parent.trial), "--json")
    assert (replay.json["outputs_identical"], replay.json["workspace_equal"]) == (2, True), replay.out
    docker("rmi", "-f", *{event.image for event in parent.events if isinstance(event, Checkpoint)})


def test_a_trial_whose_image_is_missing_costs_nothing_and_goes_on_once_the_image_is_there(
    tmp_path: Path, workbench_image: str
) -> None:
    missing = f"retrace.invalid/{uuid.uuid4().hex[:12]}:v1"
    model = script(tmp_path, "echo hello", SUBMIT)
    place = ("--instruction", "Work.", "--image", missing, "--env", "docker", "--no-evaluate")
    result = agent(tmp_path, "solve", *place, "--model", model)
    assert result.status == 1
    (exit,) = [line for line in result.out.splitlines() if line.startswith("exit ")]
    assert "infrastructure: image_unusable" in exit
    shown = " ".join(result.out.split())
    assert "docker load" in shown
    assert "tokens none, because no model was called cost none" in shown
    assert "unknown" not in shown
    (trial,) = (path.parent for path in tmp_path.glob("runs/*/*/events.jsonl"))
    evaluated = agent(tmp_path, "evaluate", str(trial))
    assert (evaluated.status, evaluated.err.count("\n")) == (2, 1)
    assert "was ended by infrastructure (image_unusable)" in evaluated.err
    assert "agent resume" in evaluated.err
    assert "agent checkout" not in evaluated.err, "there is no workspace"
    again = agent(tmp_path, "resume", str(trial), "--json")
    assert (again.status, again.json["exit"]["cause"]) == (1, "image_unusable")
    try:
        subprocess.run(["docker", "tag", workbench_image, missing], check=True)
        resumed = agent(tmp_path, "resume", str(trial), "--json")
    finally:
        subprocess.run(["docker", "rmi", missing], check=False, capture_output=True)
    assert (resumed.status, resumed.json["exit"]["cause"], resumed.json["commands"]) == (0, "submitted", 1), resumed.err
    assert agent(tmp_path, "show", str(trial), "--check").status == 0
