"""Running a command of the package `programbench`: a process group of its own that ends with us and leaves nothing.

The evaluator's Docker containers carry our labels (`docker-labelled`): those of this process, for `agent clean`, and
one that names the run. Whatever ends the run, what carries the latter is removed.
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

HERE = Path(__file__).parent
COMMAND = HERE / "package.py"
DOCKER = HERE / "docker-labelled"
DOCKER_VARIABLE = "PROGRAMBENCH_DOCKER_EXECUTABLE"


@dataclass(frozen=True)
class Ran:
    """How a command ended: `status` is None where the time limit ended it."""

    status: int | None
    left: int
    """Containers and images that it left, and that are removed now."""


def run(arguments: Sequence[str], log: Path, timeout_s: float, variables: Mapping[str, str]) -> Ran:
    """Run `programbench ARGUMENTS`, its words going to `log`.

    When we are interrupted it is killed, not asked: the package would first wait for the branch that is running, up to
    an hour, and its containers are removed here anyway. Raises: OSError, KeyboardInterrupt.
    """
    name = secrets.token_hex(8)
    docker = os.environ.get(DOCKER_VARIABLE) or "docker"
    labels = {**owner.this_process().labels(), sweep.LABEL: name}
    process: subprocess.Popen[bytes] | None = None
    cut_off = True
    left = 0
    # The package reads results into files of TMPDIR, and its own death would leave them there.
    with tempfile.TemporaryDirectory(prefix=f"{owner.this_process().prefix}programbench-") as scratch:
        environment = {
            **os.environ,
            **variables,
            DOCKER_VARIABLE: str(DOCKER),
            "RETRACE_DOCKER": docker,
            "RETRACE_LABELS": " ".join(f"--label {label}={value}" for label, value in labels.items()),
            "RETRACE_EVALUATION": name,
            "TMPDIR": scratch,
            "PYTHONUTF8": "1",  # the package decodes by locale: what it makes of a byte must not depend on ours
            "COLUMNS": "200",
            "NO_COLOR": "1",
            "_TYPER_STANDARD_TRACEBACK": "1",
        }
        try:
            with log.open("wb") as file:
                process = subprocess.Popen(
                    [sys.executable, "-P", str(COMMAND), *arguments],
                    stdin=subprocess.PIPE,  # its life line: held open and never written to
                    stdout=file,
                    stderr=subprocess.STDOUT,
                    env=environment,
                    start_new_session=True,
                )
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(timeout_s)
                cut_off = False
        finally:
            with interrupts.held():  # a second signal must not cut off the tidying up
                if process is not None:
                    _end(process)
                    left = sweep.sweep(docker, name, cut_off=cut_off)
    return Ran(None if cut_off else process.returncode, left)


def _end(process: subprocess.Popen[bytes]) -> None:
    """Kill it if it still runs, docker's clients in its group included, and reap it."""
    if process.returncode is None:  # not reaped yet, so that the group cannot be another's
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    if process.stdin is not None:
        process.stdin.close()
