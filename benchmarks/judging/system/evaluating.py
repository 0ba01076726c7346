"""One evaluation of a task whose tests are a script: what it learns, and the verdict that it comes to."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from tarfile import TarError

from benchmarks.judging.faults import EvaluatorFailed, Fault, cause_of
from benchmarks.judging.system.opening import Make, Opened
from benchmarks.task.published.source import TaskSource
from benchmarks.task.submission import Submission
from benchmarks.task.task import Task, TaskError
from environments.protocol import EnvironmentFault
from trajectories.record.verdict import Case, Evaluator, Verdict


@dataclass
class Facts:
    """Facts about an evaluation so far, which a verdict has also after a failure."""

    inputs: dict[str, str]
    isolation: str = "none: nothing ran"
    notes: list[str] = field(default_factory=list)
    processes_kept: bool | None = None
    exposed: list[str] = field(default_factory=list)
    comparable: bool | None = None
    cases: tuple[Case, ...] = ()

    @classmethod
    def of(cls, task: Task) -> Facts:
        """Return the facts before anything has happened."""
        images = {f"base_image {name}": image for name, image in task.settings.base_images.items()}
        return cls({"task": task.digest, **images})

    def note_overlay(self, source: TaskSource) -> None:
        """Note the overlay of the task, if it has one.

        Raises: TaskError.
        """
        if source.overlay is not None:
            self.inputs["overlay"] = source.overlay_digest()
            self.notes.append(f"files of the overlay {source.overlay} mend the task")

    def note_image(self, opening: Opened) -> None:
        """Note the image of the container that is judged, and what it could not bring along."""
        started = opening.started
        values = {"image": started.image, "image_digest": started.image_digest}
        self.inputs |= {key: value for key, value in values.items() if value}
        if opening.processes_kept:
            return
        services, volumes = opening.environment.spec.services, opening.environment.spec.member.volumes
        if volumes:
            self.notes.append(
                f"no commit holds the files in volumes, so these are as at the start: {', '.join(volumes)}"
            )
        if services:
            names = ", ".join(service.name for service in services)
            self.notes.append(f"services were started anew, without what they held after the trial: {names}")


@dataclass(frozen=True)
class Outcome:
    """The outcome of an evaluation that came to its end."""

    passed: bool
    quality: float
    cases: tuple[Case, ...] = ()
    metrics: Mapping[str, float] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    fault: Fault | None = None
    """The fault of the submission that decided in place of the tests."""


def verdict(
    task: Task, submission: Submission, evaluator: tuple[str, str], facts: Facts, judge: Callable[[], Outcome]
) -> Verdict:
    """Return the verdict that `judge` comes to. Its failure is a verdict with status "error".

    `evaluator` is its name and version.
    """
    begun = time.monotonic()
    outcome, error, cause = None, "", None
    try:
        if submission.kind not in task.submissions:
            raise EvaluatorFailed(f"{task.id} is judged as {' or '.join(task.submissions)}, not as {submission.kind}")
        outcome = judge()
        cause = outcome.fault.cause if outcome.fault else None
    except (EvaluatorFailed, EnvironmentFault, TaskError, OSError, TarError) as failure:
        cause = cause_of(failure)
        error = (str(failure) or type(failure).__name__).splitlines()[0]
    return Verdict(
        status="error" if outcome is None else "scored",
        cause=cause,
        passed=outcome.passed if outcome else None,
        quality=outcome.quality if outcome else None,
        cases=outcome.cases if outcome else (),
        metrics=dict(outcome.metrics) if outcome else {},
        evaluator=Evaluator(name=evaluator[0], version=evaluator[1], inputs=facts.inputs),
        isolation=facts.isolation,
        seconds=time.monotonic() - begun,
        error=error,
        notes=(*facts.notes, *(outcome.notes if outcome else ())),
        result=task.result,
        submission=submission.kind,
        processes_kept=facts.processes_kept,
        exposed=tuple(facts.exposed) if outcome else (),
        comparable=facts.comparable if outcome else None,
    )


def directory_of(task: Task) -> Path:
    """Return the directory of a task.

    Raises: EvaluatorFailed if it has none.
    """
    if task.directory is None:
        raise EvaluatorFailed(f"{task.id} has no directory, so there are no tests")
    return task.directory


def empty_scratch(scratch: Path, names: Iterable[str]) -> None:
    """Make the directory of an evaluation's files, and remove those of an interrupted one."""
    scratch.mkdir(parents=True, exist_ok=True)
    for name in names:
        (scratch / name).unlink(missing_ok=True)


def maker(make: Make | None) -> Make:
    """Return what makes an environment, by default `environments.choose.make`."""
    if make is not None:
        return make
    from environments.choose import make as make_environment

    return make_environment
