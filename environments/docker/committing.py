"""Keeping a container as an image."""

from __future__ import annotations

from typing import TYPE_CHECKING

from environments.docker import daemon

if TYPE_CHECKING:
    from docker import APIClient

    from environments.docker.stored_images import Image
    from environments.docker.watch import Watched

COMMIT_S = 600
CHECKPOINT = "retrace-checkpoint"
"""Repository of the images that checkpoints make."""


def commit(api: APIClient, container: str, image: Image, name: str, heard: Watched | None) -> str:
    """Keep a container that was started from an image as another image, and return its reference.

    `heard` learns that the commit pauses the container; None if it is paused already.

    Raises: EnvironmentUnavailable, DiskFull.
    """
    changes = [f"USER {image.user or 'root'}", f"WORKDIR {image.workdir or '/'}", "ENTRYPOINT []"]
    if heard is not None:
        heard.expect_pause()
    try:
        with daemon.reported(f"keeping container {container[:12]} as an image"), daemon.patience(api, COMMIT_S):
            api.commit(container, CHECKPOINT, name.lower(), changes=changes)
    finally:
        if heard is not None:
            heard.end_pause()
    return f"{CHECKPOINT}:{name.lower()}"
