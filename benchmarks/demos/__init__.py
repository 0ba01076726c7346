"""The demo tasks that come with Retrace, written for this project. Each is a directory in `tasks/`.

`DEMO` is public: the benchmark `demo`, which `benchmarks.task.registry` loads by name.
"""

from __future__ import annotations

from pathlib import Path

from benchmarks.task.directory import TaskDirectories

_HERE = Path(__file__).resolve().parent

DEMO = TaskDirectories("demo", _HERE / "tasks", within=_HERE.parent)
"""The benchmark `demo`. Its images are built from Dockerfiles of `benchmarks`, some of which several tasks share."""
