"""A submission on its way to a verdict: everything that judging in a container and judging on the host share.

Holds the types, how a build and a suite are run, and when they count as failed. No environment is started here.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, cast

from benchmarks.task import taskdir
from benchmarks.task.task import Task
from benchmarks.task.taskfile import EvaluationPart
from environments.archives.archive import BadArchive
from environments.protocol import (
    Environment,
    EnvironmentFault,
    EnvironmentLost,
    EnvironmentSpec,
    EnvironmentUnavailable,
    Execution,
    Kind,
)
from trajectories.writing import excerpts

Make = Callable[[EnvironmentSpec], Environment]


class EvaluatorFailed(Exception):
    """The evaluator or its infrastructure failed, not the submission; the message is one line."""


@dataclass(frozen=True)
class Submission:
    """An exported workspace to judge, and the kind of environment to judge it in."""

    task: Task
    source: taskdir.TaskDirectory
    """The task's directory, read again for the evaluation."""
    workspace: Path
    kind: Kind
    scratch: Path
    """Directory for logs and results."""
    make: Make

    def put_into(self, environment: Environment, directory: str) -> str:
        """Unpack the exported workspace; return the reason if its own content prevents that, otherwise ''.

        Raises: EvaluatorFailed if the archive is not zstd, EnvironmentFault.
        """
        import zstandard

        try:
            with (
                self.workspace.open("rb") as raw,
                zstandard.ZstdDecompressor().stream_reader(raw, read_across_frames=True) as plain,
            ):
                environment.put(cast(BinaryIO, plain), directory)
        except zstandard.ZstdError as error:
            raise EvaluatorFailed(f"{self.workspace.name} is no whole tar.zst: {error}") from None
        except (BadArchive, EnvironmentLost, EnvironmentUnavailable):  # the content is not the cause
            raise
        except EnvironmentFault as error:
            return f"the submission cannot be unpacked: {excerpts.middle(str(error), 1000)}"
        return ""


@dataclass(frozen=True)
class Judged:
    """The outcome of judging; the suite's files are in `scratch`."""

    isolation: str
    build_failed: str = ""
    """The reason if the submission itself left nothing to run, otherwise ''."""
    inputs: tuple[tuple[str, str], ...] = ()
    notes: tuple[str, ...] = ()


def build_script(evaluation: EvaluationPart) -> str:
    """Return the script that removes the files that the build must make, then builds."""
    paths = " ".join(shlex.quote(path) for path in evaluation.remove)
    lines = [f"rm -rf -- {paths}"] if paths else []
    return "\n".join([*lines, *([evaluation.build] if evaluation.build else [])])


def build_failure(execution: Execution, deadline_s: float) -> str:
    """Return the reason if a build counts as failed, otherwise ''."""
    if execution.ended in ("exited", "oom") and execution.exit_code == 0:
        return ""
    if execution.ended == "deadline":
        ending = f"had not finished after {deadline_s:g} s"
    elif execution.ended == "exited":
        ending = f"exit {execution.exit_code}" if execution.signal is None else f"signal {execution.signal}"
    else:
        ending = f"was ended: {execution.ended}"
    output = excerpts.middle(execution.output.decode("utf-8", "replace").strip(), 1000)
    return f"the build failed: {ending}" + (f": {output}" if output else "")


def check_ended(execution: Execution) -> None:
    """Accept only a suite that ran to its end.

    Raises: EvaluatorFailed.
    """
    if execution.ended not in ("exited", "oom"):  # oom: some process of it was killed, perhaps the candidate
        raise EvaluatorFailed(f"the suite was ended: {execution.ended} after {execution.duration_s:.0f} s")
    if execution.exit_code not in (0, 1):  # pytest: 0 all passed, 1 some failed
        lines = execution.output.decode("utf-8", "replace").strip().splitlines() or ["no output"]
        raise EvaluatorFailed(f"the suite could not be run, exit {execution.exit_code}: {main_line(lines)}")


def main_line(lines: list[str]) -> str:
    """Return the most informative line of a failed run: the first error, or the last line if none is marked."""
    marks = ("drive: ", "ERROR ", "E   ", "INTERNALERROR")
    line = next((line for line in lines if line.startswith(marks)), lines[-1])
    return excerpts.beginning(line.strip(), 500)
