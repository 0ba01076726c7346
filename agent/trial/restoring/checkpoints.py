"""The image of a trial's last checkpoint: it holds everything that was installed until then.

A stage of a task that was not committed yet begins again in the commit of the stage before.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

from agent.errors import UserError
from agent.trial.judging.submitting import Submitted, submitted_image
from agent.trial.restoring.standing import Standing, standing_of
from benchmarks.task.task import Task
from environments.docker.committing import CHECKPOINT
from environments.protocol import EnvironmentUnavailable, Kind
from trajectories.errors import RecordError
from trajectories.reading.family import directory_of_parent
from trajectories.reading.reader import first_event, read_events
from trajectories.record.layout import name_of_turn

_OUTSIDE = "files outside of the workspace"


@dataclass(frozen=True)
class CheckpointImage:
    """The image to start from, if there is one, and what is not in it."""

    image: str | None = None
    lost: tuple[str, ...] = ()
    has_set_up: bool = False
    """True if the image holds the set-up of the trial's stage, which must not be done twice."""


def checkpoint_image(directory: Path, standing: Standing, kind: Kind) -> CheckpointImage:
    """Find the image of a trial's last checkpoint; it is used only if the daemon still has it."""
    stage = standing.start.task.stage
    if stage is not None and kind == "docker" and standing.checkpoint is None:
        before = _stage_before(directory, standing)
        committed = before.checkpoint.image if before is not None and before.checkpoint is not None else None
        other = standing.env.image if standing.env is not None else None
        if other == committed or not _is_checkpoint(other):
            return _beginning(stage, committed, standing)
    checkpoint = _last(standing, kind)
    return replace(checkpoint, has_set_up=stage is not None and checkpoint.image is not None)


def _beginning(stage: int, committed: str | None, standing: Standing) -> CheckpointImage:
    """Return the image in which a stage begins, which is the commit of the one before; the task's own for stage 1."""
    worked = bool(standing.steps)
    if stage == 1:
        return CheckpointImage(lost=(_OUTSIDE,) if worked else ())
    if committed is None or not _has_image(committed):
        gone = f"{_OUTSIDE} (the commit {committed or 'that was made'} of stage {stage - 1} is gone)"
        return CheckpointImage(lost=(gone,))
    return CheckpointImage(committed, (f"{_OUTSIDE} since stage {stage} began",) if worked else ())


def _stage_before(directory: Path, standing: Standing) -> Standing | None:
    """Return the stage before that of a trial, or of the trial that it was forked from; None if it is not there."""
    start = standing.start
    if (start.task.stage or 1) == 1:
        return None
    try:
        while start.chain is None:
            beside = None if start.parent is None else directory_of_parent(directory, start.parent)
            if beside is None:
                return None
            directory, start = beside, first_event(beside)
        return standing_of(read_events(directory.parent / name_of_turn(start.chain.first, (start.turn or 1) - 1)))
    except RecordError:
        return None


def _is_checkpoint(image: str | None) -> bool:
    return (image or "").startswith(f"{CHECKPOINT}:")


def _last(standing: Standing, kind: Kind) -> CheckpointImage:
    image, step = None, 0
    if standing.checkpoint is not None:
        image, step = standing.checkpoint.image, standing.checkpoint.step
    elif standing.env is not None and _is_checkpoint(standing.env.image):
        image = standing.env.image  # that of a fork's parent
    elif not standing.steps and standing.continues is None:
        return CheckpointImage()
    if kind == "local" and image is None and (standing.env is None or standing.env.kind == "local"):
        return CheckpointImage()  # they are the machine's own, and still there
    if image is None or kind != "docker":
        return CheckpointImage(lost=(_OUTSIDE,))
    if not _has_image(image):
        return CheckpointImage(lost=(f"{_OUTSIDE} (the image {image} of step {step} is gone)",))
    return CheckpointImage(image, (f"{_OUTSIDE} since step {step}",) if standing.steps > step else ())


def require_system(name: str, task: Task, standing: Standing, checkpoint: CheckpointImage) -> None:
    """Require that a system that somebody worked in can be continued: a workspace alone is not the whole of it.

    Raises: UserError.
    """
    is_untouched = not (standing.steps or standing.continues or (task.stage or 1) > 1)
    if task.result != "system" or checkpoint.image is not None or is_untouched:
        return
    made = standing.checkpoint
    lost = "it was not committed" if made is None else f"its image {made.image} of step {made.step} is gone"
    if made is None and (task.stage or 1) > 1:
        lost = "; ".join(checkpoint.lost) or lost
    raise UserError(
        f"{name}: {task.id} is about the whole container, and {lost}, so nothing can continue in it; begin again with "
        "agent solve (--checkpoint-every N commits it after every N steps)"
    )


def committed_system(name: str, standing: Standing) -> Submitted:
    """Return the image that the container of a finished trial was committed as; its processes have ended.

    Raises: UserError if it was not committed, or if the image is gone.
    """
    made = standing.checkpoint
    if made is None or made.step != standing.steps:
        last = "" if made is None else f" (the last commit, {made.image}, is of step {made.step} of {standing.steps})"
        raise UserError(
            f"{name}: its container was not committed when it ended, so there is nothing to evaluate{last}; "
            "begin again with agent solve"
        )
    if not _has_image(made.image):
        raise UserError(
            f"{name}: the image {made.image} that its container was committed as is gone, so there is "
            "nothing to evaluate; begin again with agent solve"
        )
    return submitted_image(made.image, processes_ended=bool(standing.left_running or standing.continues))


def _has_image(reference: str) -> bool:
    from environments.docker import daemon
    from environments.docker.images import look_up

    try:
        api = daemon.connect()
    except EnvironmentUnavailable:
        return False
    try:
        return look_up(api, reference) is not None
    finally:
        api.close()
