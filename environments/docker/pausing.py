"""What the daemon does with a container that is paused: its processes stand still, its files can be written."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, BinaryIO

from environments.archives.protected import rooted
from environments.docker import daemon
from environments.docker.watch import Watched
from environments.protocol import EnvironmentFault, EnvironmentLost, EnvironmentUnavailable

if TYPE_CHECKING:
    from docker import APIClient


def pause(api: APIClient, container: str, heard: Watched) -> None:
    """Stop all processes of a container.

    Raises: EnvironmentLost.
    """
    heard.expect_pause()
    with _lost(container, "pausing"):
        api.pause(container)


def unpause(api: APIClient, container: str) -> None:
    """Let the processes of a container run again.

    Raises: EnvironmentLost.
    """
    with _lost(container, "unpausing"):
        api.unpause(container)


def put(api: APIClient, container: str, archive: BinaryIO, directory: str) -> None:
    """Unpack files that root owns into a container.

    Raises: EnvironmentFault, DiskFull.
    """
    data = rooted(archive, directory)
    with _lost(container, f"unpacking into {directory} of"):
        if not api.put_archive(container, "/", data):
            raise EnvironmentFault(f"the daemon did not unpack the files into {directory}")


@contextmanager
def _lost(container: str, doing: str) -> Iterator[None]:
    try:
        with daemon.reported(f"{doing} container {container[:12]}"):
            yield
    except EnvironmentUnavailable as error:
        raise EnvironmentLost(str(error)) from error
