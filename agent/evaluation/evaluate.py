"""`agent evaluate`: a verdict on a workspace that exists already, in a trial or anywhere else. No model is called."""

from __future__ import annotations

from pathlib import Path

from agent.errors import UserError
from agent.evaluation.judged import NO_CHANGES
from agent.evaluation.result import EvaluationResult
from agent.evaluation.trial import evaluate_trial
from agent.evaluation.workspace import evaluate_workspace
from agent.trial.options import Options, TaskChanges
from environments.protocol import Kind
from trajectories.reading.runs import find_trial
from trajectories.record.layout import EVENTS, PACKED, TrialFolder
from trajectories.writing.recorder import Observer


def evaluate_any(
    name: str,
    runs: Path,
    *,
    task: str | None = None,
    env: Kind | None = None,
    output: Path | None = None,
    changes: TaskChanges = NO_CHANGES,
    observer: Observer | None = None,
) -> EvaluationResult:
    """Evaluate a directory or an archive by its path, or a trial by its path or id.

    `changes` are settings of the task; a trial keeps those that they do not name.

    Raises: UserError, RecordError, TrialInUse.
    """
    if not name:
        raise UserError("the argument is empty; name a trial, a directory or an archive")
    path = Path(name)
    is_workspace = path.is_dir() and not TrialFolder(path).is_trial()
    if not is_workspace and (not path.is_file() or path.name in (EVENTS, PACKED)):
        if output is not None:
            raise UserError(f"--output {output}: a trial's verdict and logs are kept with it; leave the option out")
        return evaluate_trial(find_trial(name, runs), task=task, env=env, changes=changes, observer=observer)
    if task is None:
        raise UserError(f"{name} is not a trial, so its task must be given: --task TASK")
    settings = Options(model="", **changes).task_settings
    return evaluate_workspace(path, task, env=env, output=output, settings=settings, reporter=observer)
