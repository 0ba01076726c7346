"""The sample tasks in Harbor's format: loading, solving and judging them in containers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path
from shutil import copytree

import pytest

from agent.loop.solution import solution_of
from agent.models.free.oracle import commands
from benchmarks.harbor.adapter import Harbor
from benchmarks.task.settings import TaskSettings
from benchmarks.task.submission import Image, Live
from benchmarks.task.task import Task
from environments.choose import make
from environments.docker import daemon
from environments.docker.services import network
from environments.protocol import Environment, Started
from tests.demo_images import demo_image
from trajectories.record.verdict import Verdict

HARBOR = Path(__file__).parent / "tasks" / "harbor"
BASE = "python:3.13-slim-bookworm"


def loaded(directory: Path, **changes: object) -> Task:
    """Return the task in a directory, whose image starts from the demos' workbench."""
    image = demo_image("ledger")
    assert image is not None
    settings = TaskSettings(base_images={BASE: image}, **changes)  # type: ignore[arg-type]
    return Harbor("sample", directory.parent).load(directory.name, settings)


def varied(directory: Path, to: Path, files: Mapping[str, str]) -> Path:
    """Return a copy of a task in which these files are replaced or added."""
    copytree(directory, to / directory.name, symlinks=True)
    for name, text in files.items():
        (to / directory.name / name).parent.mkdir(parents=True, exist_ok=True)
        (to / directory.name / name).write_text(text)
    return to / directory.name


def oracle(task: Task) -> list[str]:
    """Return the commands of the oracle."""
    solution = solution_of(task)
    return [*commands(solution.archive, directory=solution.directory), f"{solution.run} || true"]


def need_networks() -> None:
    """Skip the test if the daemon can make no network for services."""
    with closing(daemon.connect()) as api:
        if trouble := network.obstacle(api):
            pytest.skip(trouble)


@contextmanager
def worked(task: Task, *scripts: str) -> Iterator[tuple[Environment, Started]]:
    """A container of the task in which an agent has run these commands."""
    if task.spec.services:
        need_networks()
    environment = make(task.spec)
    try:
        started = environment.start()
        Harbor("sample", HARBOR).prepare(task, environment)
        for script in scripts:
            execution = environment.execute(script, deadline_s=60)
            assert execution.exit_code == 0, bytes(execution.output)
        yield environment, started
    finally:
        environment.stop()


def verdict_on(task: Task, submission: Live | Image, folder: Path) -> Verdict:
    """Return the verdict of the task's adapter."""
    assert task.directory is not None
    return Harbor("sample", task.directory.parent).evaluate(task, submission, "docker", folder / "evaluation")


def verdict_after(task: Task, folder: Path, *scripts: str) -> Verdict:
    """Return the verdict on the container in which an agent has run these commands."""
    with worked(task, *scripts) as (environment, started):
        return verdict_on(task, Live(environment, started, "unused"), folder)
