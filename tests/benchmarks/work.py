"""Workspaces of real environments: prepared, changed by a script, and exported."""

from __future__ import annotations

import io
import tarfile
from dataclasses import replace
from pathlib import Path

import zstandard

import benchmarks
from agent.loop.solution import solution_of
from agent.models.free.oracle import commands
from benchmarks.task.directory import TaskDirectories
from benchmarks.task.submission import Archive
from benchmarks.task.task import Benchmark, Task
from environments.choose import make
from environments.protocol import Kind
from trajectories.record.verdict import Verdict

WITHIN = Path(benchmarks.__file__).resolve().parent

PASSES = "def test(candidate):\n    assert candidate().stdout == b'yes'\n"
SOLUTION = "printf '#!/bin/sh\\nprintf yes' > executable; chmod +x executable"


class Notes:
    """A reporter that keeps its lines."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def note(self, line: str) -> None:
        self.lines.append(line)


class Maker:
    """Writes a task directory and loads it."""

    def __init__(self, root: Path) -> None:
        self.adapter = TaskDirectories("made", root / "tasks", within=Path("/"))

    def __call__(self, suite: str = PASSES, settings: str = "", evaluation: str = "", dockerfile: str = "") -> Task:
        directory = self.adapter.root / "it"
        (directory / "tests").mkdir(parents=True)
        (directory / "tests/test_it.py").write_text(suite)
        (directory / "instruction.md").write_text("Do it.")
        context = str(WITHIN / "demos" / "workbench")
        if dockerfile:
            context = "image"
            (directory / "image").mkdir()
            (directory / "image/Dockerfile").write_text(dockerfile)
        (directory / "task.yaml").write_text(
            "title: T\nkind: test\nenvironments: [docker, sandbox, local]\n"
            f"image: {{build: {{context: {context}}}}}\n{settings}\nevaluation: {{timeout: 60s, {evaluation}}}\n"
        )
        return self.adapter.load("it")


def archive(path: Path, *members: tuple[str, str]) -> Path:
    """Write an archive of files by name and content, also with names that an export never has."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as tar:
        for name, content in members:
            info = tarfile.TarInfo(name)
            info.size = len(content)
            tar.addfile(info, io.BytesIO(content.encode()))
    path.write_bytes(zstandard.compress(buffer.getvalue()))
    return path


def reference(id: str) -> str:
    """Return the script that solves a demo task."""
    _, task = benchmarks.resolve_task(f"demo/{id}")
    return "\n".join(commands(solution_of(task).archive))


def exported(adapter: Benchmark, task: Task, kind: Kind, script: str, to: Path) -> Path:
    """Run a script in a fresh workspace, and export the workspace."""
    environment = make(replace(task.spec, kind=kind))
    try:
        environment.start()
        adapter.prepare(task, environment)
        execution = environment.execute(script, deadline_s=60)
        assert (execution.ended, execution.exit_code) == ("exited", 0), execution.output.decode()
        environment.export(to)
    finally:
        environment.stop()
    return to


def judged(reference: str, kind: Kind, script: str, scratch: Path) -> Verdict:
    """Run a script in a task's workspace, and return the verdict."""
    adapter, task = benchmarks.resolve_task(reference)
    return judged_task(adapter, task, kind, script, scratch)


def judged_task(adapter: Benchmark, task: Task, kind: Kind, script: str, scratch: Path) -> Verdict:
    """Do the same with a task that is loaded already."""
    scratch.mkdir(exist_ok=True)
    archive = exported(adapter, task, kind, script, scratch / "workspace.tar.zst")
    return adapter.evaluate(task, Archive(archive), kind, scratch / "evaluation")
