"""Reading a workspace out of a container through its daemon, if the supervisor no longer answers.

It works for a container that runs, is paused, or has stopped and was kept.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager
from typing import TYPE_CHECKING

from environments.archives import archive as tar, holes
from environments.archives.exporting import Archive, TooLarge, full
from environments.docker import daemon
from environments.protocol import EnvironmentLost

if TYPE_CHECKING:
    from docker import APIClient

PAUSE_S = 10
IDLE_S = 60
RESCUED_BYTES = 16 << 30
"""Most bytes of files that are read through a daemon. It writes holes out as zeros."""
_CHUNK_BYTES = 1 << 20


def of_container(api: APIClient, container: str, directory: str) -> Archive:
    """Read the content of a directory, owned by 0:0. The container is paused first, so that nothing changes meanwhile.

    Raises: EnvironmentLost, TooLarge, DiskFull.
    """
    try:
        with daemon.patience(api, PAUSE_S):
            api.pause(container)
    except daemon.not_found():
        raise EnvironmentLost(f"container {container[:12]} is gone, and its files with it") from None
    except OSError:
        pass  # it is paused already, or it has ended
    return (yield from of_still_container(api, container, directory))


def of_still_container(api: APIClient, container: str, directory: str) -> Archive:
    """Read the content of a directory, owned by 0:0, of a container in which nothing runs.

    Raises: EnvironmentLost, TooLarge, DiskFull.
    """
    total = 0

    def is_small(member: tar.Member) -> bool:
        nonlocal total
        total += member.size
        if total > RESCUED_BYTES:
            size = f"{member.shown!r} has {member.size} bytes"
            raise TooLarge(f"a daemon gives at most {RESCUED_BYTES >> 30} GiB of files, and {size}")
        return True

    try:
        with daemon.patience(api, IDLE_S), _archive(api, container, directory) as chunks:
            yield from holes.restored(tar.filtered(chunks, is_small, (0, 0)))
    except daemon.not_found():
        raise EnvironmentLost(f"container {container[:12]} is gone, and its files with it") from None
    except OSError as error:
        raise full(error) or EnvironmentLost(f"the daemon gives no files of it ({daemon.reason(error)})") from None
    return 0, ""


@contextmanager
def _archive(api: APIClient, container: str, directory: str) -> Iterator[Iterator[bytes]]:
    """Open the daemon's tar stream of the content of a directory, and close it also if it was not read to its end.

    The client's own method leaves such a stream open. Then the daemon neither unpauses nor removes the container.
    """
    from docker.errors import create_api_error_from_http_exception

    url = f"{api.base_url}/v{api.api_version}/containers/{container}/archive"
    # `/.` makes the daemon name the members relative to the directory.
    path = f"{directory.rstrip('/')}/."
    with closing(api.get(url, params={"path": path}, stream=True, timeout=api.timeout)) as response:
        try:
            response.raise_for_status()
        except OSError as error:  # the error of an HTTP status is one
            create_api_error_from_http_exception(error)  # type: ignore[arg-type]
        yield response.iter_content(_CHUNK_BYTES)
