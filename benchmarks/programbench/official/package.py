"""The command line of the package `programbench`, with one's own instances added. Run by path, never imported.

Instances of RETRACE_PROGRAMBENCH_TASKS are added to those that the package loads; an id of the package's stays its own.
With RETRACE_EVALUATION, standard input is the life line of the harness: when that dies, so does all this, and
`sweep.py` removes the containers that were running.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

SWEEP = Path(__file__).with_name("sweep.py")


def main() -> None:
    evaluation = os.environ.get("RETRACE_EVALUATION")
    if evaluation:
        threading.Thread(target=_end_with_harness, args=(evaluation,), daemon=True).start()
    own = [Path(part) for part in os.environ.get("RETRACE_PROGRAMBENCH_TASKS", "").split(os.pathsep) if part]
    if own:
        _add(own)
    from programbench.cli.main import app

    app(prog_name="programbench")


def _end_with_harness(evaluation: str) -> None:
    os.read(0, 1)  # nothing is ever sent
    docker = os.environ.get("RETRACE_DOCKER", "docker")
    subprocess.Popen([sys.executable, "-P", str(SWEEP), docker, evaluation], start_new_session=True)
    os.killpg(os.getpgrp(), signal.SIGKILL)


def _add(directories: list[Path]) -> None:
    """Everything of the package asks this one function for instances."""
    from programbench.constants import TASKS_DIR
    from programbench.utils import load_data

    package = load_data.load_all_instances

    def with_own(tasks_dir: Path = TASKS_DIR, *, include_tests: bool = True) -> list[dict[str, Any]]:
        found = {one["instance_id"]: one for one in package(tasks_dir, include_tests=include_tests)}
        for directory in filter(Path.is_dir, directories):
            for one in package(directory, include_tests=include_tests):
                found.setdefault(one["instance_id"], one)
        return list(found.values())

    load_data.load_all_instances = with_own


if __name__ == "__main__":
    main()
