"""Evaluates a trial again, or for the first time. The verdict goes into its record.

Only a trial that came to its own end gets a verdict: a trial that infrastructure or its user ended is not scored as the
agent's work.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from pathlib import Path

from agent.errors import UserError
from agent.evaluation.judged import NO_CHANGES, kind_for, task_of_trial
from agent.evaluation.result import EvaluationResult, evaluated
from agent.trial.gate import OPEN_GATE, Gate
from agent.trial.judging.submitting import Submitted, submitted_archive
from agent.trial.judging.verdict import changed_settings, evaluate
from agent.trial.options import TaskChanges
from agent.trial.outcome import Outcome
from agent.trial.restoring.checkpoints import committed_system
from agent.trial.restoring.final_workspace import exported_again, require_export
from agent.trial.restoring.standing import standing_of
from agent.trial.session import locked_record
from environments.leftovers.cleaning import clean_trials
from environments.leftovers.removal import remove_tree
from environments.protocol import Kind
from trajectories.interrupts import interruptible
from trajectories.record.events import BaseEvent, Evaluated, EvaluationStarted, Exited, Snapshot, Warned
from trajectories.record.layout import TrialFolder
from trajectories.writing.recorder import Observer


def evaluate_trial(
    directory: Path,
    *,
    task: str | None = None,
    env: Kind | None = None,
    changes: TaskChanges = NO_CHANGES,
    observer: Observer | None = None,
    gate: Gate = OPEN_GATE,
) -> EvaluationResult:
    """Evaluate a trial by its task; `task` names it on purpose, as it is now.

    `changes` are settings of the task that replace those of the trial.

    An evaluation that failed or was cut off finds what it left behind; after a score it begins anew.

    Raises: UserError, RecordError, TrialInUse.
    """
    with locked_record(directory) as record:
        events = record.read()
        standing = standing_of(events)
        if standing.exit is None:
            raise UserError(_not_ended(directory, events))
        with interruptible():
            benchmark, judged = task_of_trial(directory, standing.start, task, changes)
            recorded = standing.start.environment
            kind = kind_for(judged, env or (None if recorded == "unknown" else recorded))
            if judged.result == "system":
                clean_trials([directory.name])  # a killed process may have left it paused
                submitted = committed_system(directory.name, standing)
            else:
                submitted = submitted_archive(directory, require_export(directory, standing))
        ref = standing.start.task
        changed = judged.digest != ref.digest
        with record.recorder(after=standing.last, observer=observer) as recorder:
            if changed:
                text = f"evaluated by {judged.id} {judged.digest[:12]}, and the trial's was {ref.digest[:12]}"
                recorder.append(Warned(kind="task_changed", text=text))
            outcome = Outcome(directory, standing.exit.exit)
            if submitted.left is None:
                with interruptible():
                    submitted = submitted_archive(directory, exported_again(directory, recorder))
            continues = not changed and _continues(events, submitted, changed_settings(judged))
            with nullcontext() if continues else _anew(record.folder, outcome, keep=_scored(events)):
                event = evaluate(benchmark, judged, kind, recorder, submitted, outcome, standing.evaluations, gate)
    folder = record.folder
    return evaluated(
        directory,
        folder.workspace,
        judged,
        kind,
        event.verdict,
        event.why_none,
        folder.evaluation,
        folder.verdict,
        image=None if submitted.recorded is None else submitted.recorded.image,
    )


def _not_ended(directory: Path, events: Sequence[BaseEvent]) -> str:
    exit = next((event.exit for event in reversed(events) if isinstance(event, Exited)), None)
    state = "has not ended" if exit is None else f"was ended by {exit.reason} ({exit.cause})"
    otherwise = ", or evaluate a copy of its workspace (agent checkout) by itself"
    has_workspace = any(isinstance(event, Snapshot) for event in events)
    return (
        f"{directory.name} {state}, so it is not scored; continue it with agent resume"
        f"{otherwise if has_workspace else ''}"
    )


@contextmanager
def _anew(folder: TrialFolder, outcome: Outcome, *, keep: bool) -> Iterator[None]:
    """Give the evaluator an empty folder. `keep` preserves the standing verdict's folder until there is a new score.

    An evaluation without a score then leaves its files in the folder's `failed`.
    """
    current, before = folder.evaluation, folder.evaluation_before
    if before.is_dir():  # a process died while it evaluated
        remove_tree(current)
        before.rename(current)
    if not keep or not current.is_dir():
        remove_tree(current)
        yield
        return
    current.rename(before)
    try:
        yield
    finally:
        if outcome.verdict is not None and outcome.verdict.status == "scored":
            remove_tree(before)
        else:
            remove_tree(before / "failed")
            if current.is_dir():
                current.rename(before / "failed")
            before.rename(current)


def _continues(events: Sequence[BaseEvent], submitted: Submitted, settings: dict[str, str]) -> bool:
    """Report if the last evaluation was of this submission with these settings, and none has come to a score."""
    last = next((event for event in reversed(events) if isinstance(event, EvaluationStarted)), None)
    same = last is not None and (last.submission, last.settings) == (submitted.recorded, settings)
    return same and not _scored(events)


def _scored(events: Sequence[BaseEvent]) -> bool:
    """Report if any evaluation has come to a score."""
    verdicts = (event.verdict for event in events if isinstance(event, Evaluated))
    return any(verdict is not None and verdict.status == "scored" for verdict in verdicts)
