"""Containers to judge in: the demos' workbench with Python and pytest, as its ordinary user and as root."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks.judging.system.running import run_script
from benchmarks.judging.system.script_run import ScriptResult, ScriptRun
from benchmarks.task import tree
from benchmarks.task.registry import benchmark
from environments.choose import make
from environments.protocol import Environment, EnvironmentSpec, Execution, Started
from environments.reporting import LogReporter


def workbench(**changes: object) -> EnvironmentSpec:
    """Return the spec of the demos' workbench with these changes."""
    spec = benchmark("demo").load("ledger").spec
    return replace(spec, kind="docker", **changes)  # type: ignore[arg-type]


class Judged:
    """A started container in which an agent works first, and tests run then."""

    def __init__(self, environment: Environment, started: Started) -> None:
        self.environment = environment
        self.started = started

    def agent(self, script: str) -> Execution:
        """Run a command of the agent."""
        return self.environment.execute(script, deadline_s=20)

    def root(self, script: str) -> Execution:
        """Run a command of the harness."""
        return self.environment.execute(script, deadline_s=20, as_root=True)

    def judge(self, run: ScriptRun) -> ScriptResult:
        """Run a test script."""
        return run_script(self.environment, self.started, run, LogReporter())


@pytest.fixture(scope="module")
def judged() -> Iterator[Callable[[str], Judged]]:
    """A function that returns a container whose agent is `agent` or `root`; each test of a file gets the same one."""
    containers: dict[str, Judged] = {}

    def started(user: str) -> Judged:
        if user not in containers:
            environment = make(workbench(user=user))
            containers[user] = Judged(environment, environment.start())
        return containers[user]

    yield started
    for container in containers.values():
        container.environment.stop()


def suite_of(directory: Path, **files: str) -> tree.Tree:
    """Write files (`__` in a name is its dot) and return them as a tree."""
    directory.mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        (directory / name.replace("__", ".")).write_text(text)
    return tree.scan(directory)
