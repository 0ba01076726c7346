"""The sample tasks of LongCLI-Bench and terminal-bench, judged in containers: solved, untouched and partly solved."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from agent.loop.solution import solution_of
from agent.models.free.oracle import commands
from benchmarks.task.settings import TaskSettings
from benchmarks.task.submission import Archive, Live
from benchmarks.task.task import Task
from benchmarks.terminalbench.adapter import TerminalBench
from environments.choose import make
from environments.protocol import Environment, Started
from tests.demo_images import demo_image
from trajectories.record.verdict import Verdict

TASKS = Path(__file__).parent / "tasks"
LONGCLI = TerminalBench("longcli", TASKS / "longcli")
TERMINALBENCH = TerminalBench("terminal-bench", TASKS / "terminal-bench")
BASES = ("tb/make-pytest:v0", "tb/61810-openhands:v0", "ghcr.io/laude-institute/t-bench/ubuntu-24-04:20250624")

pytestmark = pytest.mark.docker


def settings(**changes: object) -> TaskSettings:
    """Return settings that start every sample task from the demos' workbench."""
    image = demo_image("ledger")
    assert image is not None
    return TaskSettings(base_images=dict.fromkeys(BASES, image), **changes)  # type: ignore[arg-type]


def oracle(task: Task) -> list[str]:
    """Return the commands of the oracle."""
    solution = solution_of(task)
    placing = commands(solution.archive, directory=solution.directory) if solution.archive else []
    return [*placing, solution.run]


@contextmanager
def worked(task: Task, scripts: list[str]) -> Iterator[tuple[Environment, Started]]:
    """A container of the task in which an agent has run these commands."""
    environment = make(task.spec)
    try:
        started = environment.start()
        for script in scripts:
            execution = environment.execute(script, deadline_s=60)
            assert execution.exit_code == 0, bytes(execution.output)
        yield environment, started
    finally:
        environment.stop()


def judged(task: Task, scripts: list[str], folder: Path) -> Verdict:
    """Return the verdict on what the commands leave, judged as a trial's own evaluation does."""
    benchmark = LONGCLI if task.result == "workspace" else TERMINALBENCH
    with worked(task, scripts) as (environment, started):
        if task.result == "system":
            live = Live(environment, started, "retrace-checkpoint:not-made")
            return benchmark.evaluate(task, live, "docker", folder / "evaluation")
        environment.export(folder / "workspace.tar.zst")
    return benchmark.evaluate(task, Archive(folder / "workspace.tar.zst"), "docker", folder / "evaluation")


@pytest.mark.parametrize("id", ["tally", "greet", "interpreter"])
def test_the_oracle_solves_a_task_of_longcli_bench(id: str, tmp_path: Path) -> None:
    task = LONGCLI.load(id, settings())
    verdict = judged(task, oracle(task), tmp_path)
    assert (verdict.passed, verdict.quality, verdict.status) == (True, 1.0, "scored"), verdict
