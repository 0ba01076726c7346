"""Workspaces that were worked on for real: prepared, changed by a script, exported."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import benchmarks
from benchmarks.task import Benchmark, Task
from environments.choose import make
from environments.protocol import Kind
from trajectories.verdict import Verdict

SOLUTIONS = Path(__file__).resolve().parents[1] / "solutions"


def reference(id: str) -> str:
    """The script that solves a demo task."""
    return (SOLUTIONS / id / "solve.sh").read_text()


def exported(adapter: Benchmark, task: Task, kind: Kind, script: str, to: Path) -> Path:
    """What a workspace is after the script ran in it."""
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
    """The verdict on a task after the script ran."""
    adapter, task = benchmarks.resolve_task(reference)
    return judged_task(adapter, task, kind, script, scratch)


def judged_task(adapter: Benchmark, task: Task, kind: Kind, script: str, scratch: Path) -> Verdict:
    """The verdict on a task that was loaded already."""
    scratch.mkdir(exist_ok=True)
    archive = exported(adapter, task, kind, script, scratch / "workspace.tar.zst")
    return adapter.evaluate(task, archive, kind, scratch / "evaluation")
