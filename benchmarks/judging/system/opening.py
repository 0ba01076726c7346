"""Opening a submission as the environment to judge it in."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace

from benchmarks.judging.faults import EvaluatorFailed, HostFailed, SubmissionFailed
from benchmarks.judging.system import exposure
from benchmarks.judging.unpacking import unpack
from benchmarks.task.submission import Archive, Image, Live, Submission
from benchmarks.task.task import Task
from environments.protocol import (
    DiskFull,
    Environment,
    EnvironmentFault,
    EnvironmentSpec,
    ImageUnusable,
    OutOfMemory,
    Started,
)
from environments.reporting import Reporter

Make = Callable[[EnvironmentSpec], Environment]
EMPTY_S = 120.0
"""Seconds that emptying a workspace may take."""
_IN_IMAGE = "the tests run with the programs of the committed image, and the agent could have replaced these"


@dataclass(frozen=True)
class Opened:
    """A submission that is ready to be judged."""

    environment: Environment
    started: Started
    processes_kept: bool
    """True if what the agent left running runs in it."""
    exposed: exposure.Lines = tuple
    """Waits for the lines about what the agent could have tampered with in this environment, and returns them."""

    def needs_shield(self, user: str | None = None) -> bool:
        """Return True if what the agent left running could write the results of tests that run as this user."""
        agent = (self.started.user or "root").partition(":")[0]
        return self.processes_kept and agent in (*exposure.ROOT, user)


@contextmanager
def opened(submission: Submission, task: Task, make: Make, reporter: Reporter) -> Iterator[Opened]:
    """Open a submission as the environment to judge it in; one that was made for that is removed at the end.

    An archive is unpacked into a fresh environment of the task, and an image is started without any process of the
    agent.

    Raises: SubmissionFailed, EvaluatorFailed.
    """
    if isinstance(submission, Live):
        yield Opened(
            submission.environment, submission.started, processes_kept=True, exposed=exposure.of_live(submission)
        )
        return
    spec = replace(task.spec, kind="docker", keep=False, workspace=None, shell="fresh")
    if isinstance(submission, Image):
        spec = replace(spec, image=submission.reference, build=None)
    environment = make(spec)
    try:
        try:
            started = environment.start()
            if isinstance(submission, Archive):
                _fill(environment, started, submission)
        except ImageUnusable as error:
            gone = f"image {submission.reference}: {error}" if isinstance(submission, Image) else str(error)
            raise EvaluatorFailed(gone) from None
        except OutOfMemory as error:
            raise SubmissionFailed("memory", str(error)) from None
        except (DiskFull, EnvironmentFault) as error:
            raise HostFailed(str(error)) from None
        reporter.note(f"evaluation: judging the {submission.kind} in container {(started.container or '')[:12]}")
        exposed = (_IN_IMAGE,) if isinstance(submission, Image) else ()
        yield Opened(environment, started, processes_kept=False, exposed=lambda: exposed)
    finally:
        environment.stop()


def _fill(environment: Environment, started: Started, submission: Archive) -> None:
    """Replace the content of the workspace by that of an archive.

    Raises: SubmissionFailed, EvaluatorFailed, EnvironmentFault.
    """
    execution = environment.execute("find . -mindepth 1 -delete", deadline_s=EMPTY_S, cwd=started.workdir, as_root=True)
    if execution.exit_code != 0:
        raise EvaluatorFailed(f"emptying the workspace failed: {bytes(execution.output)[:500]!r}")
    fault = unpack(submission.path, environment, started.workdir)
    if fault is not None:
        raise SubmissionFailed(fault.cause, fault.reason)
