"""The image of a trial's last checkpoint: it holds everything that was installed until then."""

from __future__ import annotations

from dataclasses import dataclass

from agent.trial.restoring.standing import Standing
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
