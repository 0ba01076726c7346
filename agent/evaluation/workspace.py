"""Evaluates a workspace by itself: it leaves no record, and its verdict is printed or written where the user says."""

from __future__ import annotations

import tempfile
from pathlib import Path

from agent.errors import UserError
from agent.evaluation.archives import as_workspace_archive
from agent.evaluation.judged import kind_for, resolved_task
from agent.evaluation.result import EvaluationResult, evaluated
from agent.trial.judging.verdict import verdict_on
from benchmarks.task.settings import UNCHANGED, TaskSettings
from benchmarks.task.submission import Archive
from environments.leftovers.removal import remove_tree
from environments.protocol import Kind
from environments.reporting import Reporter
from trajectories.interrupts import held, interruptible
from trajectories.record.layout import EVALUATION, VERDICT, WORKSPACE


def evaluate_workspace(
    workspace: Path,
    task: str,
    *,
    env: Kind | None = None,
    output: Path | None = None,
    settings: TaskSettings = UNCHANGED,
    reporter: Reporter | None = None,
) -> EvaluationResult:
    """Evaluate a directory or an archive (tar, tar.gz, tar.zst); write the verdict and the logs to `output`, if given.

    Raises: UserError.
    """
    from environments.leftovers.owner import this_process

    if output is not None and output.exists() and (not output.is_dir() or any(output.iterdir())):
        raise UserError(f"--output {output}: exists and is not an empty directory; name a new one")
    with held():
        base = Path(tempfile.mkdtemp(prefix=f"{this_process().prefix}evaluate-"))
        try:
            with interruptible():
                benchmark, judged = resolved_task(task, settings)
                kind = kind_for(judged, env)
                if "archive" not in judged.submissions:
                    raise UserError(
                        f"{judged.id} is judged in the whole container of a trial, so a workspace by itself cannot be "
                        "evaluated; name a trial"
                    )
                archive = Archive(as_workspace_archive(workspace, base / WORKSPACE))
            if output is not None:
                output.mkdir(parents=True, exist_ok=True)
            scratch = output or base / EVALUATION
            verdict, why_none = verdict_on(benchmark, judged, kind, archive, scratch, reporter)
            if output is not None and verdict is not None:
                (output / VERDICT).write_text(verdict.model_dump_json(indent=1) + "\n", encoding="utf-8")
        finally:
            remove_tree(base)
    file = None if output is None else output / VERDICT
    return evaluated(None, workspace, judged, kind, verdict, why_none, output, file)
