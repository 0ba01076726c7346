"""The command line of the package `programbench`, with the user's own instances. Run by path, never imported.

Instances of RETRACE_PROGRAMBENCH_TASKS are added to those of the package; for an id that both have, the package's one
counts. With RETRACE_EVALUATION, standard input is a pipe from the harness: when the harness dies, this process group
is killed, and `sweep.py` removes the containers that were running.

RETRACE_MEMORY_BYTES limits the address space: what a submission prints is read into memory whole. RETRACE_FAILURE names
a file for the error that the evaluator raises over an instance; the evaluator itself only logs it. RETRACE_PROGRESS
names a file for the branches whose tests have begun; the evaluator names none before the end.
"""

from __future__ import annotations

import json
import logging
import os
import resource
import signal
import subprocess
import sys
import threading
import traceback
from pathlib import Path
from typing import Any

SWEEP = Path(__file__).with_name("sweep.py")


def main() -> None:
    """Run the package's command line."""
    evaluation = os.environ.get("RETRACE_EVALUATION")
    if evaluation:
        threading.Thread(target=_end_with_harness, args=(evaluation,), daemon=True).start()
    memory = os.environ.get("RETRACE_MEMORY_BYTES")
    if memory:
        resource.setrlimit(resource.RLIMIT_AS, (int(memory), resource.getrlimit(resource.RLIMIT_AS)[1]))
    failure = os.environ.get("RETRACE_FAILURE")
    if failure:
        logging.getLogger("programbench.eval.eval_batch").addHandler(_Failures(Path(failure)))
    own = [Path(part) for part in os.environ.get("RETRACE_PROGRAMBENCH_TASKS", "").split(os.pathsep) if part]
    if own:
        _add(own)
    progress = os.environ.get("RETRACE_PROGRESS")
    if progress:
        _report_branches(Path(progress))
    from programbench.cli.main import app

    app(prog_name="programbench")


def _end_with_harness(evaluation: str) -> None:
    os.read(0, 1)  # returns when the harness dies: nothing is ever sent
    docker = os.environ.get("RETRACE_DOCKER", "docker")
    subprocess.Popen([sys.executable, "-P", str(SWEEP), docker, evaluation], start_new_session=True)
    os.killpg(os.getpgrp(), signal.SIGKILL)


class _Failures(logging.Handler):
    """Writes the error of a record to a file, with the functions that it passed."""

    def __init__(self, file: Path) -> None:
        super().__init__(logging.ERROR)
        self._file = file

    def emit(self, record: logging.LogRecord) -> None:
        if record.exc_info and record.exc_info[1] is not None:
            error = record.exc_info[1]
            functions = [frame.name for frame in traceback.extract_tb(error.__traceback__)]
            content = {"error": type(error).__name__, "functions": functions, "message": str(error)[:2000]}
            self._file.write_text(json.dumps(content))


def _report_branches(file: Path) -> None:
    """Write the name of each branch to a file when its tests begin; a package without such a step reports none."""
    from programbench.eval.eval import Evaluator

    evaluate = getattr(Evaluator, "_evaluate_branch", None)
    if evaluate is None:
        return

    def reported(self: Evaluator, branch: str, image: str) -> None:
        try:
            with file.open("a", encoding="utf-8") as names:
                names.write(f"{branch}\n")
        except OSError:
            pass  # a full disk; only the progress is lost
        evaluate(self, branch, image)

    Evaluator._evaluate_branch = reported  # type: ignore[method-assign]


def _add(directories: list[Path]) -> None:
    """Replace the function from which the whole package gets its instances."""
    from programbench.constants import TASKS_DIR
    from programbench.utils import load_data

    package = load_data.load_all_instances

    def with_own(tasks_dir: Path = TASKS_DIR, *, include_tests: bool = True) -> list[dict[str, Any]]:
        instances = {instance["instance_id"]: instance for instance in package(tasks_dir, include_tests=include_tests)}
        for directory in filter(Path.is_dir, directories):
            for instance in package(directory, include_tests=include_tests):
                instances.setdefault(instance["instance_id"], instance)
        return list(instances.values())

    load_data.load_all_instances = with_own


if __name__ == "__main__":
    main()
