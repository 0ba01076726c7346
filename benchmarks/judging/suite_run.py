"""One run of a hidden suite: everything that judging in a container and judging on the host share.

Holds the types, how a build and a suite are run, and when they count as failed. No environment is started here.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks.judging.faults import EvaluatorFailed, Fault, SubmissionFailed
from benchmarks.judging.unpacking import unpack
from benchmarks.task import taskdir
from benchmarks.task.task import Task
from benchmarks.task.taskfile import EvaluationPart
from environments.protocol import (
    Environment,
    EnvironmentSpec,
    Execution,
    Kind,
)
from environments.reporting import LogReporter, Reporter
from trajectories.record.verdict import VerdictCause
from trajectories.record.words import Ended
from trajectories.writing import excerpts

BUILD_LOG = "build.log"
SUITE_LOG = "suite.log"
"""Names of the logs of the build and of the suite in `scratch`."""
Make = Callable[[EnvironmentSpec], Environment]


@dataclass(frozen=True)
class SuiteRun:
    """An exported workspace to judge, and the kind of environment to judge it in."""

    task: Task
    source: taskdir.TaskDirectory
    """The task's directory, read again for the evaluation."""
    workspace: Path
    kind: Kind
    scratch: Path
    """Directory for logs and results."""
    make: Make
    reporter: Reporter = field(default_factory=LogReporter)
    """Shows how far the evaluation is."""

    def put_into(self, environment: Environment, directory: str) -> Fault | None:
        """Unpack the exported workspace; return its fault if its own content prevents that.

        Raises: EvaluatorFailed if the archive is not zstd, EnvironmentFault.
        """
        return unpack(self.workspace, environment, directory)


@dataclass(frozen=True)
class Judged:
    """The outcome of judging; the suite's files are in `scratch`."""

    isolation: str
    fault: Fault | None = None
    """The fault of the submission because of which its tests did not run."""
    inputs: tuple[tuple[str, str], ...] = ()
    notes: tuple[str, ...] = ()


def build(run: SuiteRun, environment: Environment, evaluation: EvaluationPart, workdir: str) -> Fault | None:
    """Build as the task's user and keep the log; return the fault if that failed.

    Raises: EnvironmentFault.
    """
    script = _build_script(evaluation)
    if not script:
        return None
    run.reporter.note(f"evaluation: building the submission, at most {evaluation.build_timeout:g} s")
    execution = environment.execute(script, deadline_s=evaluation.build_timeout, cwd=workdir)
    (run.scratch / BUILD_LOG).write_bytes(bytes(execution.output))
    return build_failure(execution, evaluation.build_timeout)


def _build_script(evaluation: EvaluationPart) -> str:
    """Return the script that removes the files that the build must make, then builds."""
    paths = " ".join(shlex.quote(path) for path in evaluation.remove)
    lines = [f"rm -rf -- {paths}"] if paths else []
    return "\n".join([*lines, *([evaluation.build] if evaluation.build else [])])


_CAUSES: dict[Ended, VerdictCause] = {
    "exited": "build",
    "deadline": "time",
    "output_cap": "output",
    "oom": "memory",
    "supervisor_lost": "processes",
    "environment_lost": "processes",
}
"""Causes of a build that failed, by its end."""
UNKILLABLE = 71
"""Exit status of `drive.py` if processes of the candidate cannot be killed."""
_PYTEST_BROKE = (2, 3)
"""Exit statuses of pytest after an interruption or an internal error."""


def note_suite(run: SuiteRun, evaluation: EvaluationPart) -> None:
    """Tell that the suite runs."""
    run.reporter.note(f"evaluation: running the tests, at most {evaluation.timeout:g} s")


def build_failure(execution: Execution, deadline_s: float) -> Fault | None:
    """Return the fault if a build counts as failed."""
    if execution.ended in ("exited", "oom") and execution.exit_code == 0:
        return None
    if execution.ended == "deadline":
        ending = f"had not finished after {deadline_s:g} s"
    elif execution.ended == "exited":
        ending = f"exit {execution.exit_code}" if execution.signal is None else f"signal {execution.signal}"
    else:
        ending = f"was ended: {execution.ended}"
    output = excerpts.middle(execution.output.decode("utf-8", "replace").strip(), 1000)
    return Fault(
        _CAUSES.get(execution.ended, "build"), f"the build failed: {ending}" + (f": {output}" if output else "")
    )


def check_ended(execution: Execution) -> None:
    """Accept only a suite that ran to its end.

    The judge limits the candidate's time, output and processes, so a suite that goes beyond its own limits, or that
    pytest gives up, was driven there. The caller collects the suite once more without the submission: if that fails as
    well, the suite or its environment is broken.

    Raises: SubmissionFailed, EvaluatorFailed.
    """
    if execution.ended in ("deadline", "output_cap"):
        cause = _CAUSES[execution.ended]
        raise SubmissionFailed(cause, f"the suite was ended: {execution.ended} after {execution.duration_s:.0f} s")
    if execution.ended not in ("exited", "oom"):  # oom: some process of it was killed, perhaps the candidate
        raise EvaluatorFailed(f"the suite was ended: {execution.ended} after {execution.duration_s:.0f} s")
    if execution.exit_code in (0, 1):  # pytest: 0 all passed, 1 some failed
        return
    lines = execution.output.decode("utf-8", "replace").strip().splitlines() or ["no output"]
    reason = f"the suite could not be run, exit {execution.exit_code}: {main_line(lines)}"
    if execution.ended == "oom":
        raise SubmissionFailed("memory", f"the memory limit ended the suite: {reason}")
    if execution.exit_code == UNKILLABLE:
        raise SubmissionFailed("processes", reason)
    if execution.exit_code in _PYTEST_BROKE:
        raise SubmissionFailed("result", reason)
    raise EvaluatorFailed(reason)


def main_line(lines: list[str]) -> str:
    """Return the most informative line of a failed run: the first error, or the last line if none is marked."""
    marks = ("drive: ", "ERROR ", "E   ", "INTERNALERROR")
    line = next((line for line in lines if line.startswith(marks)), lines[-1])
    return excerpts.beginning(line.strip(), 500)
