"""The sample tasks of LongCLI-Bench and terminal-bench: loading, solving and judging them in containers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from shutil import copytree

from agent.loop.solution import solution_of
from agent.models.free.oracle import commands
from benchmarks.task.settings import TaskSettings
from benchmarks.task.submission import Archive, Image, Live
from benchmarks.task.task import Task
from benchmarks.terminalbench.adapter import TerminalBench
from environments.choose import make
from environments.protocol import Environment, Started
from tests.benchmarks.work import archive
from tests.demo_images import demo_image
from trajectories.record.verdict import Verdict

TASKS = Path(__file__).parent / "tasks"
LONGCLI = TASKS / "longcli"
TERMINAL_BENCH = TASKS / "terminal-bench"
BASES = ("tb/make-pytest:v0", "tb/61810-openhands:v0", "t-bench/ubuntu-24-04:20250624")


def loaded(directory: Path, **changes: object) -> Task:
    """Return the task in a directory, whose image starts from the demos' workbench."""
    image = demo_image("ledger")
    assert image is not None
    settings = TaskSettings(base_images=dict.fromkeys(BASES, image), **changes)  # type: ignore[arg-type]
    return TerminalBench("sample", directory.parent).load(directory.name, settings)


def varied(directory: Path, to: Path, files: Mapping[str, str]) -> Path:
    """Return a copy of a task in which these files are replaced or added."""
    copytree(directory, to / directory.name)
    for name, text in files.items():
        (to / directory.name / name).write_text(text)
    return to / directory.name


def oracle(task: Task) -> list[str]:
    """Return the commands of the oracle."""
    solution = solution_of(task)
    placing = commands(solution.archive, directory=solution.directory) if solution.archive else []
    return [*placing, solution.run]


@contextmanager
def worked(task: Task, *scripts: str) -> Iterator[tuple[Environment, Started]]:
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


def verdict_on(task: Task, submission: Archive | Live | Image, folder: Path) -> Verdict:
    assert task.directory is not None
    adapter = TerminalBench("sample", task.directory.parent)
    return adapter.evaluate(task, submission, "docker", folder / "evaluation")


def workspace_of(task: Task, to: Path, changes: Mapping[str, str]) -> Archive:
    """Return the initial workspace of a task of LongCLI-Bench with these files changed or added."""
    assert task.directory is not None
    (project,) = [path.parent for path in task.directory.glob("*/*") if path.parent.name != "tests"][:1]
    initial = [*project.iterdir(), task.directory / "INSTRUCTION.md"]
    files = {str(path.relative_to(task.directory)): path.read_text() for path in initial} | changes
    return Archive(archive(to / "workspace.tar.zst", *files.items()))


def on_files(task: Task, to: Path, changes: Mapping[str, str] | None = None) -> Verdict:
    """Return the verdict on the initial workspace with these files changed or added."""
    to.mkdir(exist_ok=True)
    return verdict_on(task, workspace_of(task, to, changes or {}), to)
