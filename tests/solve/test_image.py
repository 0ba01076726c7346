"""Faults of a task's image are found before the model is asked for the first time."""

from __future__ import annotations

from pathlib import Path

import pytest

from agent.loop.actions import SUBMIT
from environments.docker import daemon, images
from tests.environments import conftest as environments
from tests.solve.command import CommandResult, agent, script
from trajectories.record.events import ActionFinished, CallStarted, EnvStarted

pytestmark = pytest.mark.docker


@pytest.fixture(scope="module")
def lean() -> str:
    """An image with a user and perl, but without python3 (Debian's minbase)."""
    tag = f"{images.BUILT}:{images.content_hash(environments._IMAGE, None)[:24]}"
    api = daemon.connect()
    if images.look_up(api, tag) is None:
        made = environments.environment("docker")
        made.start()
        made.stop()
    api.close()
    return tag


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
    assert (result.status, result.json["exit"]["cause"]) == (1, "environment_lost"), result.err
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
