"""Evaluates what a trial left with the benchmark's own evaluator. Never raises: a missing verdict has a reason."""

from __future__ import annotations

import os
import stat
from contextlib import ExitStack
from pathlib import Path

from agent.trial.gate import Gate
from agent.trial.judging.submitting import Submitted
from agent.trial.outcome import INTERRUPTED, Outcome
from benchmarks.task.published.source import recorded
from benchmarks.task.submission import Live, Submission as Left
from benchmarks.task.task import Benchmark, Task, TaskError
from environments.protocol import Kind
from environments.reporting import Reporter
from trajectories.interrupts import interruptible
from trajectories.record.events import Evaluated, EvaluationStarted
from trajectories.record.layout import TrialFolder
from trajectories.record.verdict import Verdict
from trajectories.writing.masking import Masker
from trajectories.writing.recorder import Recorder


def evaluate(
    benchmark: Benchmark,
    task: Task,
    kind: Kind,
    recorder: Recorder,
    submitted: Submitted,
    outcome: Outcome,
    evaluations: int,
    gate: Gate,
) -> Evaluated:
    """Score a trial's submission, and record the verdict or why there is none; `evaluations` were begun before.

    It waits at the gate for a place among the evaluations of this machine.

    Files that an earlier evaluation left behind stay where they are: the evaluator may continue from there.
    """
    reason = submitted.reason
    if submitted.left is not None and submitted.recorded is not None:
        started = EvaluationStarted(
            evaluation=evaluations + 1,
            evaluator=benchmark.name,
            submission=submitted.recorded,
            settings=changed_settings(task),
        )
        scratch = TrialFolder(recorder.directory).evaluation
        with ExitStack() as place:
            try:
                with interruptible():
                    place.enter_context(gate.evaluation())
            except KeyboardInterrupt:
                reason = INTERRUPTED
            else:
                recorder.append(started)
                recorder.sync()
                outcome.verdict, reason = verdict_on(benchmark, task, kind, submitted.left, scratch, recorder)
        if outcome.verdict is not None and submitted.processes_ended:
            outcome.verdict = outcome.verdict.model_copy(update={"comparable": False})
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
        return Masker.from_environment().event(_marked(verdict, task, left)), ""
    except KeyboardInterrupt:
        return None, INTERRUPTED
    except Exception as error:
        return None, f"the evaluator failed: {error!r}"


def changed_settings(task: Task) -> dict[str, str]:
    """Return the settings that change a task for its evaluation, as the record has them; none of an unreadable one."""
    try:
        return recorded(task.settings)
    except TaskError:  # the evaluation fails with that reason
        return {}


def _marked(verdict: Verdict, task: Task, left: Left) -> Verdict:
    """Return the verdict with what was judged. A benchmark that stops the agent's processes tells that itself."""
    facts: dict[str, object] = {
        "result": task.result,
        "submission": left.kind,
        "settings": recorded(task.settings),
    }
    if verdict.processes_kept is None:
        facts["processes_kept"] = isinstance(left, Live)
    if task.settings.isolated:
        facts["comparable"] = False
    return verdict.model_copy(update=facts)


def _special(folder: Path) -> Path | None:
    """Return a path below the folder that is neither a file nor a directory nor a link."""
    for directory, _, names in os.walk(folder):
        for name in names:
            mode = os.lstat(os.path.join(directory, name)).st_mode
            if not (stat.S_ISREG(mode) or stat.S_ISLNK(mode)):
                return Path(directory, name)
    return None
