"""Evaluates several trials side by side, each in a thread.

An interrupt stops them all. The next call goes on with the trials that have no score then.
"""

from __future__ import annotations

import queue
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

from agent.errors import MachineError, UserError
from agent.evaluation.judged import NO_CHANGES
from agent.evaluation.pending import needs_evaluation
from agent.evaluation.result import Evaluation
from agent.evaluation.trial import evaluate_trial
from agent.trial.options import TaskChanges
from environments.protocol import Kind
from trajectories.errors import RecordError, TrialInUse
from trajectories.interrupts import Stop, stopped_by

_LOOK_S = 0.2
"""Time between two looks for an interrupt."""


@dataclass(frozen=True)
class Settings:
    """Settings of every evaluation, as `evaluate_trial` takes them."""

    at_once: int = 1
    again: frozenset[Path] = frozenset()
    """Trials that are evaluated even if they have a score."""
    task: str | None = None
    env: Kind | None = None
    changes: TaskChanges = field(default_factory=lambda: NO_CHANGES)


@dataclass(frozen=True)
class Done:
    """The end of one evaluation."""

    trial: Path
    evaluation: Evaluation | None
    """None if there was none; `problem` has the reason."""
    problem: str = ""
    skipped: bool = False
    """True if the trial has a score by now, or another process works on it: nothing failed."""
    seconds: float = 0.0


def evaluate_several(trials: Sequence[Path], settings: Settings, say: Callable[[str], None]) -> list[Done]:
    """Evaluate these trials, `settings.at_once` at a time, and return their ends in the order of the trials.

    `say` gets a line at each end. A trial that cannot be evaluated does not keep the others from it.

    Raises: KeyboardInterrupt, after all evaluations that ran have stopped and closed their records.
    """
    stop = Stop()
    ended: queue.Queue[Done] = queue.Queue()
    ends: dict[Path, Done] = {}
    with ThreadPoolExecutor(max_workers=max(1, settings.at_once), thread_name_prefix="evaluation") as pool:
        try:
            futures = [pool.submit(_run, trial, settings, stop, ended) for trial in trials]
            while len(ends) < len(trials):
                try:
                    done = ended.get(timeout=_LOOK_S)
                except queue.Empty:
                    for future in futures:
                        if future.done():
                            future.result()  # a bug of ours is raised here
                    continue
                ends[done.trial] = done
                say(f"{len(ends)} of {len(trials)} {in_words(done)}")
        except BaseException:
            stop.set()
            pool.shutdown(wait=True, cancel_futures=True)
            raise
    return [ends[trial] for trial in trials]


def in_words(done: Done) -> str:
    """Return the end of an evaluation as a line."""
    name, seconds = done.trial.name, f"({done.seconds:.1f} s)"
    evaluation = done.evaluation
    if evaluation is None:
        return f"{name}: {'skipped' if done.skipped else 'not evaluated'}: {done.problem}"
    verdict = evaluation.verdict
    if verdict is None:
        return f"{name}: no verdict: {evaluation.why_none} {seconds}"
    if verdict.status != "scored":
        return f"{name}: the evaluator failed: {verdict.error} {seconds}"
    return f"{name}: {'passed' if verdict.passed else 'failed'}, quality {verdict.quality or 0.0:.3f} {seconds}"


def _run(trial: Path, settings: Settings, stop: Stop, ended: queue.Queue[Done]) -> None:
    if stop.is_set():
        return
    began = time.monotonic()
    with stopped_by(stop):
        done = _evaluated(trial, settings)
    ended.put(Done(done.trial, done.evaluation, done.problem, done.skipped, time.monotonic() - began))


def _evaluated(trial: Path, settings: Settings) -> Done:
    try:
        if trial not in settings.again and not needs_evaluation(trial):
            return Done(trial, None, "it has a score by now", skipped=True)
        evaluation, _ = evaluate_trial(trial, task=settings.task, env=settings.env, changes=settings.changes)
    except TrialInUse as error:
        return Done(trial, None, str(error), skipped=True)
    except KeyboardInterrupt:
        return Done(trial, None, "interrupted")
    except (UserError, MachineError, RecordError, OSError) as error:
        return Done(trial, None, " ".join(str(error).split()))
    return Done(trial, evaluation)
