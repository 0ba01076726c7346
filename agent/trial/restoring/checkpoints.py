"""The image of a trial's last checkpoint: it holds everything that was installed until then."""

from __future__ import annotations

from dataclasses import dataclass

from agent.errors import UserError
from agent.trial.judging.submitting import Submitted, submitted_image
from agent.trial.restoring.standing import Standing
from benchmarks.task.task import Task
from environments.docker.environment import CHECKPOINT
from environments.protocol import EnvironmentUnavailable, Kind


@dataclass(frozen=True)
class CheckpointImage:
    """The image to start from, if there is one, and what is not in it."""

    image: str | None = None
    lost: tuple[str, ...] = ()


def checkpoint_image(standing: Standing, kind: Kind) -> CheckpointImage:
    """Find the image of the last checkpoint; it is used only if the daemon still has it."""
    outside = "files outside of the workspace"
    image, step = None, 0
    if standing.checkpoint is not None:
        image, step = standing.checkpoint.image, standing.checkpoint.step
    elif standing.env is not None and (standing.env.image or "").startswith(f"{CHECKPOINT}:"):
        image = standing.env.image  # that of a fork's parent
    elif not standing.steps and standing.continues is None:
        return CheckpointImage()
    if kind == "local" and image is None and (standing.env is None or standing.env.kind == "local"):
        return CheckpointImage()  # they are the machine's own, and still there
    if image is None or kind != "docker":
        return CheckpointImage(lost=(outside,))
    if not _has_image(image):
        return CheckpointImage(lost=(f"{outside} (the image {image} of step {step} is gone)",))
    return CheckpointImage(image, (f"{outside} since step {step}",) if standing.steps > step else ())


def require_system(name: str, task: Task, standing: Standing, checkpoint: CheckpointImage) -> None:
    """Require that a system that somebody worked in can be continued: a workspace alone is not the whole of it.

    Raises: UserError.
    """
    if task.result != "system" or checkpoint.image is not None or not (standing.steps or standing.continues):
        return
    made = standing.checkpoint
    lost = "it was not committed" if made is None else f"its image {made.image} of step {made.step} is gone"
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
        raise UserError(f"{name}: its container was not committed when it ended, so there is nothing to evaluate{last}")
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
