"""Evaluates an exported workspace with the benchmark's own evaluator. Never raises: a missing verdict has a reason."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from agent.trial.outcome import INTERRUPTED, Outcome
from benchmarks.task.submission import Archive, Submission as Left
from benchmarks.task.task import Benchmark, Task
from environments.protocol import Kind
from environments.reporting import Reporter
from trajectories.interrupts import interruptible
from trajectories.record.events import Evaluated, EvaluationStarted, Submission, WorkspaceExported
from trajectories.record.layout import TrialFolder
from trajectories.record.verdict import Verdict
from trajectories.writing.masking import Masker
from trajectories.writing.recorder import Recorder


def evaluate(
    benchmark: Benchmark,
    task: Task,
    kind: Kind,
    recorder: Recorder,
    exported: WorkspaceExported | None,
    outcome: Outcome,
    evaluations: int,
) -> Evaluated:
    """Score a trial's workspace, and record the verdict or why there is none; `evaluations` were begun before.

    Files that an earlier evaluation left behind stay where they are: the evaluator may continue from there.
    """
    reason = "there is no workspace to evaluate"
    if exported is not None:
        submission = Submission(kind="archive", sha256=exported.sha256)
        recorder.append(EvaluationStarted(evaluation=evaluations + 1, evaluator=benchmark.name, submission=submission))
        recorder.sync()
        left = Archive(recorder.directory / exported.path)
        scratch = TrialFolder(recorder.directory).evaluation
        outcome.verdict, reason = verdict_on(benchmark, task, kind, left, scratch, recorder)
        outcome.interrupted = outcome.interrupted or reason == INTERRUPTED
    outcome.evaluator_failed = not outcome.interrupted and (
        outcome.verdict is None or outcome.verdict.status == "error"
    )
    return recorder.append(Evaluated(verdict=outcome.verdict, why_none=reason))


def verdict_on(
    benchmark: Benchmark, task: Task, kind: Kind, left: Left, scratch: Path, reporter: Reporter | None = None
) -> tuple[Verdict | None, str]:
    """Return the evaluator's verdict on a submission, or None and the reason."""
    try:
        scratch.mkdir(exist_ok=True)
        if (special := _special(scratch)) is not None:
            return None, f"{special}: a pipe, a socket or a device, which no evaluator left there; remove it"
        with interruptible():
            verdict = benchmark.evaluate(task, left, kind, scratch, reporter)
        return Masker.from_environment().event(verdict), ""
    except KeyboardInterrupt:
        return None, INTERRUPTED
    except Exception as error:
        return None, f"the evaluator failed: {error!r}"


def _special(folder: Path) -> Path | None:
    """Return a path below the folder that is neither a file nor a directory nor a link."""
    for directory, _, names in os.walk(folder):
        for name in names:
            mode = os.lstat(os.path.join(directory, name)).st_mode
            if not (stat.S_ISREG(mode) or stat.S_ISLNK(mode)):
                return Path(directory, name)
    return None
