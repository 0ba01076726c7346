"""A submission on its way to a verdict: what both places of judging share.

Types, how a build and a suite are run and when they count as failed. No environment is made here.
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
from trajectories.record.text import cut_middle

Make = Callable[[EnvironmentSpec], Environment]


class EvaluatorFailed(Exception):
    """The evaluator, not the submission, failed; one line."""


@dataclass(frozen=True)
class Submission:
    """An exported workspace that is to be judged, and where."""

    task: Task
    found: taskdir.TaskDirectory
    workspace: Path
    kind: Kind
    scratch: Path
    """Logs and results are written here."""
    make: Make

    def put_into(self, environment: Environment, directory: str) -> str:
        """Unpack the exported workspace; why its own content does not allow that, or ''.

        Raises: EvaluatorFailed where it is no zstd, EnvironmentFault.
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
        except (BadArchive, EnvironmentLost, EnvironmentUnavailable):  # no archive of ours, or no fault of its content
            raise
        except EnvironmentFault as error:
            return f"the submission cannot be unpacked: {cut_middle(str(error), 1000)}"
        return ""


@dataclass(frozen=True)
class Judged:
    """What came out: the suite's files are in `scratch`."""

    isolation: str
    build_failed: str = ""
    """Why there was nothing to run, the submission's own fault; or ''."""
    inputs: tuple[tuple[str, str], ...] = ()
    notes: tuple[str, ...] = ()


def build_script(evaluation: EvaluationPart) -> str:
    """The build, with what it must make removed before."""
    paths = " ".join(shlex.quote(path) for path in evaluation.remove)
    lines = [f"rm -rf -- {paths}"] if paths else []
    return "\n".join([*lines, *([evaluation.build] if evaluation.build else [])])


def build_failure(execution: Execution, deadline_s: float) -> str:
    """Why a build counts as failed, or ''."""
    if execution.ended in ("exited", "oom") and execution.exit_code == 0:
        return ""
    if execution.ended == "deadline":
        how = f"had not finished after {deadline_s:g} s"
    elif execution.ended == "exited":
        how = f"exit {execution.exit_code}" if execution.signal is None else f"signal {execution.signal}"
    else:
        how = f"was ended: {execution.ended}"
    said = cut_middle(execution.output.decode("utf-8", "replace").strip(), 1000)
    return f"the build failed: {how}" + (f": {said}" if said else "")


def check_ended(execution: Execution) -> None:
    """Pass only a suite that ran to its end.

    Raises: EvaluatorFailed.
    """
    if execution.ended not in ("exited", "oom"):  # oom: some process of it was killed, perhaps the candidate
        raise EvaluatorFailed(f"the suite was ended: {execution.ended} after {execution.duration_s:.0f} s")
    if execution.exit_code not in (0, 1):  # pytest: 0 all passed, 1 some failed
        lines = execution.output.decode("utf-8", "replace").strip().splitlines() or ["no output"]
        raise EvaluatorFailed(f"the suite could not be run, exit {execution.exit_code}: {telling(lines)}")


def telling(lines: list[str]) -> str:
    """The line of a failed run that says most: the first error, else the last line."""
    marks = ("drive: ", "ERROR ", "E   ", "INTERNALERROR")
    return next((line for line in lines if line.startswith(marks)), lines[-1]).strip()[:500]
