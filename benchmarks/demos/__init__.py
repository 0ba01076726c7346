"""The embedded demo tasks, original ones written for this project, each in a directory of `tasks/`."""

from __future__ import annotations

from pathlib import Path

from benchmarks.task.directory import TaskDirectories

_HERE = Path(__file__).resolve().parent

DEMO = TaskDirectories("demo", _HERE / "tasks", within=_HERE.parent)
"""Their images are built from Dockerfiles of this package, some of them shared."""
