"""Images as the daemon has them: looking one up, pulling one, and making one at a time."""

from __future__ import annotations

import fcntl
import os
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from environments.docker import daemon
from environments.protocol import EnvironmentUnavailable

if TYPE_CHECKING:
    from docker import APIClient

PULL_S = 1800
PULL_SAID_EVERY_S = 5.0
BUILT_LABEL = "retrace.build"
"""Carries the hash of what an image was built from."""

Progress = Callable[[str], None]


@dataclass(frozen=True)
class Image:
    """A local image. `digest` is the registry's where it came from one, else the image's own id."""

    reference: str
    id: str
    digest: str
    user: str
    env: dict[str, str]


def look_up(api: APIClient, reference: str) -> Image | None:
    """A local image, None if there is none of this name."""
    with daemon.told(f"looking up image {reference}"):
        try:
            facts = api.inspect_image(reference)  # type: ignore[no-untyped-call]
        except daemon.not_found():
            return None
    config = facts.get("Config") or {}
    env = dict(line.partition("=")[::2] for line in config.get("Env") or [])
    digests = facts.get("RepoDigests") or [facts["Id"]]
    return Image(reference, facts["Id"], digests[0].rpartition("@")[2], config.get("User") or "", env)


def pull(api: APIClient, reference: str, platform: str | None, progress: Progress) -> None:
    """Raises: EnvironmentUnavailable, DiskFull."""
    progress(f"pulling {reference}")
    name = reference if "@" in reference or ":" in reference.rpartition("/")[2] else f"{reference}:latest"
    downloaded = _Downloaded()
    try:
        with daemon.told(f"pulling {reference}"), daemon.patience(api, PULL_S):
            for line in api.pull(name, stream=True, decode=True, platform=platform):
                if "error" in line:
                    raise OSError(line["error"])
                if line.get("status") and "progressDetail" not in line:
                    progress(f"{reference}: {line['status']}")
                elif text := downloaded.feed(line):
                    progress(f"{reference}: {text}")
    except EnvironmentUnavailable as error:
        raise EnvironmentUnavailable(
            f"{error}; pull it where a registry answers, bring it with `docker load`, or build it"
        ) from None


class _Downloaded:
    """How far a pull is, said every few seconds, from the daemon's lines about single layers."""

    def __init__(self) -> None:
        self._layers: dict[str, tuple[int, int]] = {}
        self._said = time.monotonic()

    def feed(self, line: Mapping[str, Any]) -> str:
        """What there is to say after this line; mostly nothing."""
        detail = line.get("progressDetail") or {}
        if line.get("status") != "Downloading" or not detail.get("total"):
            return ""
        self._layers[str(line.get("id"))] = int(detail.get("current") or 0), int(detail["total"])
        if time.monotonic() - self._said < PULL_SAID_EVERY_S:
            return ""
        self._said = time.monotonic()
        current, total = (sum(one) / 1e6 for one in zip(*self._layers.values(), strict=True))
        return f"{current:.0f} of {total:.0f} MB of the layers that have begun"


@contextmanager
def one_at_a_time(name: str) -> Iterator[None]:
    """Across processes of this user: whoever comes second finds it made. The lock file goes with its last holder."""
    path = Path(tempfile.gettempdir()) / f"retrace-{os.geteuid()}-{name[:24]}.lock"
    while True:
        descriptor = os.open(path, os.O_CREAT | os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            if not _is_at(descriptor, path):
                continue  # removed while we waited: whoever comes now locks another file
            try:
                yield
            finally:
                path.unlink(missing_ok=True)
            return
        finally:
            os.close(descriptor)


def unheld(path: Path, *, remove: bool) -> bool:
    """Whether nobody holds this lock file; removes it if so and asked to.

    Raises: OSError.
    """
    descriptor = os.open(path, os.O_RDWR | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if remove and _is_at(descriptor, path):
            path.unlink(missing_ok=True)
        return True
    except BlockingIOError:
        return False
    finally:
        os.close(descriptor)


def _is_at(descriptor: int, path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(descriptor), path.lstat())
    except FileNotFoundError:
        return False
