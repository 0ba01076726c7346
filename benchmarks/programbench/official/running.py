"""Running a command of the package `programbench` in a process group that ends with this process and leaves nothing.

The evaluator's Docker containers get our labels (`docker-labelled`): those of this process, for `agent clean`, and one
that names the run. Whatever ends the run, everything with the label of the run is removed.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import signal
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.programbench.official import sweep
from environments.leftovers import owner
from trajectories import interrupts
from trajectories.waiting import process_ended

HERE = Path(__file__).parent
COMMAND = HERE / "package.py"
DOCKER = HERE / "docker-labelled"
DOCKER_VARIABLE = "PROGRAMBENCH_DOCKER_EXECUTABLE"


@dataclass(frozen=True)
class FinishedCommand:
    """The end of a command."""

    status: int | None
    """Exit status, or None if the time limit ended it."""
    left: int
    """Number of containers and images that it left, and that have been removed."""


def run(arguments: Sequence[str], log: Path, timeout_s: float, variables: Mapping[str, str]) -> FinishedCommand:
    """Run `programbench ARGUMENTS` with its output in `log`.

    An interrupt kills it at once: on a signal, the package would first wait for the running branch, up to an hour, and
    its containers are removed here anyway. Raises: OSError, KeyboardInterrupt.
    """
    name = secrets.token_hex(8)
    docker = os.environ.get(DOCKER_VARIABLE) or "docker"
    labels = {**owner.this_process().labels(), sweep.LABEL: name}
    process: subprocess.Popen[bytes] | None = None
    cut_off = True
    left = 0
    # The package reads results into files of TMPDIR, and leaves them there when it is killed.
    with tempfile.TemporaryDirectory(prefix=f"{owner.this_process().prefix}programbench-") as scratch:
        environment = {
            **os.environ,
            **variables,
            DOCKER_VARIABLE: str(DOCKER),
            "RETRACE_DOCKER": docker,
            "RETRACE_LABELS": " ".join(f"--label {label}={value}" for label, value in labels.items()),
            "RETRACE_EVALUATION": name,
            "RETRACE_PYTHON": sys.executable,
            "TMPDIR": scratch,
            "PYTHONUTF8": "1",  # the package decodes by locale: results must not depend on ours
            "COLUMNS": "200",
            "NO_COLOR": "1",
            "_TYPER_STANDARD_TRACEBACK": "1",
        }
        try:
            with log.open("wb") as file:
                process = subprocess.Popen(
                    [sys.executable, "-P", str(COMMAND), *arguments],
                    stdin=subprocess.PIPE,  # open for as long as this process lives; nothing is written to it
                    stdout=file,
                    stderr=subprocess.STDOUT,
                    env=environment,
                    start_new_session=True,
                )
            with contextlib.suppress(subprocess.TimeoutExpired):
                process_ended(process, timeout_s)
                cut_off = False
        finally:
            with interrupts.held():  # a second signal must not interrupt the cleanup
                if process is not None:
                    _end(process)
                    left = sweep.sweep(docker, name, cut_off=cut_off)
    return FinishedCommand(None if cut_off else process.returncode, left)


def _end(process: subprocess.Popen[bytes]) -> None:
    """Kill the process if it still runs, with the docker clients in its group, and reap it."""
    if process.returncode is None:  # not reaped yet, so its group id cannot belong to another process
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    if process.stdin is not None:
        process.stdin.close()
