"""The result of one evaluation, as `agent evaluate` prints it."""

from __future__ import annotations

from pathlib import Path

from pydantic import BaseModel

from agent.trial.outcome import INTERRUPTED
from benchmarks.task.task import Task
from environments.protocol import Kind
from trajectories.reading.verdict_report import VerdictReport
from trajectories.record.verdict import Verdict


class Evaluation(BaseModel):
    """One evaluation, as `--json` prints it."""

    trial: str | None
    """Directory of the trial; None for a workspace by itself."""
    workspace: str
    image: str | None = None
    """Image that was evaluated in place of the workspace; None if the workspace was."""
    task: str
    environment: Kind
    verdict: VerdictReport | None
    why_none: str = ""
    logs: str | None
    """Directory of the evaluator's logs; None if they were not kept."""


EvaluationResult = tuple[Evaluation, Verdict | None]
"""An evaluation for the screen, and the whole verdict with its cases."""


def evaluated(
    trial: Path | None,
    workspace: Path,
    task: Task,
    kind: Kind,
    verdict: Verdict | None,
    why_none: str,
    logs: Path | None,
    file: Path | None,
    image: str | None = None,
) -> EvaluationResult:
    """Return the result of an evaluation; `file` holds the whole verdict."""
    evaluation = Evaluation(
        trial=None if trial is None else str(trial),
        workspace=str(workspace),
        image=image,
        task=task.id,
        environment=kind,
        verdict=None if verdict is None else VerdictReport.with_cases(verdict, file),
        why_none=why_none,
        logs=None if logs is None else str(logs),
    )
    return evaluation, verdict


def exit_status(evaluation: Evaluation) -> int:
    """Return 0 for any score, also a bad one; 1 if the evaluator failed; 130 if it was interrupted."""
    if evaluation.why_none == INTERRUPTED:
        return 130
    return 0 if evaluation.verdict is not None and evaluation.verdict.status == "scored" else 1
