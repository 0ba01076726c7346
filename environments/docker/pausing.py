"""Holding a container still, and putting files into one that is held, all through its daemon."""

from __future__ import annotations

import io
import posixpath
import tarfile
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import IO, TYPE_CHECKING, Any

from environments.docker import daemon
from environments.protocol import EnvironmentFault, EnvironmentLost, EnvironmentUnavailable
from trajectories.waiting import sleep

if TYPE_CHECKING:
    from docker import APIClient

    from environments.docker.watch import Watched

PAUSE_S = 30
"""Seconds that the daemon may take to hold or release a container."""
CONFLICT_S = 1.0
"""Seconds for which a daemon may hold a wrong state of a container after a short pause."""
PUT_S = 600
_IN_MEMORY_BYTES = 8 << 20

Trouble = Callable[[], EnvironmentLost | None]
"""Returns why a container does not answer, or None if it seems to run."""


def can_pause(facts: dict[str, Any]) -> bool:
    """Return whether a daemon with these facts can pause containers: it needs a control group of their own for that."""
    rootless = any("rootless" in str(option) for option in facts.get("SecurityOptions") or ())
    return facts.get("CgroupDriver") != "none" and not (rootless and str(facts.get("CgroupVersion", "1")) == "1")


def hold(api: APIClient, container: str, heard: Watched, trouble: Trouble) -> None:
    """Pause a container.

    Raises: EnvironmentLost, EnvironmentUnavailable.
    """
    heard.expect_pause()
    error = _insistently(lambda: api.pause(container), api, "already paused")
    if error is not None:
        heard.end_pause()
        raise _fault(f"container {container[:12]} cannot be paused", error, trouble) from None


def let_go(api: APIClient, container: str, heard: Watched, trouble: Trouble) -> None:
    """Release a container. That somebody else has released it already is not an error.

    Raises: EnvironmentLost, EnvironmentUnavailable.
    """
    error = _insistently(lambda: api.unpause(container), api, "not paused")
    heard.end_pause()
    if error is not None:
        fault = _fault(f"container {container[:12]} cannot be unpaused", error, trouble)
        if isinstance(fault, EnvironmentLost) or "not paused" not in daemon.reason(error):
            raise fault from None


def _insistently(request: Callable[[], object], api: APIClient, conflict: str) -> OSError | None:
    """Make a request, for a while also again if the daemon answers with this conflict; return its last error.

    The daemon corrects its state with events of the runtime, which may be about the pause before.
    """
    until = time.monotonic() + CONFLICT_S
    while True:
        try:
            with daemon.patience(api, PAUSE_S):
                request()
            return None
        except OSError as error:
            if conflict not in daemon.reason(error) or time.monotonic() > until:
                return error
        sleep(0.05)


def _fault(failure: str, error: OSError, trouble: Trouble) -> EnvironmentFault:
    return trouble() or EnvironmentUnavailable(f"{failure}: {daemon.reason(error)}")


@contextmanager
def unpacking(api: APIClient, container: str, directory: str, trouble: Trouble) -> Iterator[None]:
    """Turn errors of unpacking files in a container into ours.

    Raises: EnvironmentFault, DiskFull, EnvironmentLost if the container is gone.
    """
    try:
        with daemon.patience(api, PUT_S), daemon.reported(f"unpacking into {directory} of container {container[:12]}"):
            yield
    except EnvironmentUnavailable as fault:
        gone = isinstance(fault.__cause__, daemon.not_found())
        raise (trouble() if gone else None) or EnvironmentFault(str(fault)) from None


def put(
    api: APIClient,
    container: str,
    members: Iterable[bytes],
    directory: str,
    implied: list[bytes],
    owner: tuple[int, int],
) -> None:
    """Unpack a tar stream in a container. Missing directories are made, with this owner.

    `implied` receives, while the members are read, each directory that holds members without being one itself.

    To be called within `unpacking`.
    """
    with tempfile.SpooledTemporaryFile(_IN_MEMORY_BYTES) as held:
        for piece in members:
            held.write(piece)
        held.seek(0)
        _make_directory(api, container, directory, owner)
        for path in implied:
            _make_directory(api, container, posixpath.join(directory, path.decode(errors="surrogateescape")), owner)
        api.put_archive(container, directory, held)


def put_as_root(api: APIClient, container: str, members: Iterable[bytes], directory: str, implied: list[bytes]) -> None:
    """Unpack plain files and directories of root, together with the missing ones above them: most often in one request.

    To be called within `unpacking`.
    """
    parts = posixpath.normpath(directory).strip("/").split("/")
    with tempfile.SpooledTemporaryFile(_IN_MEMORY_BYTES) as held:
        for piece in members:
            held.write(piece)
        for depth in reversed(range(len(parts))):
            with tempfile.SpooledTemporaryFile(_IN_MEMORY_BYTES) as below:
                _write_below(below, parts[depth:], held, implied)
                try:
                    api.put_archive(container, "/" + "/".join(parts[:depth]), below)
                    return
                except daemon.not_found():
                    if depth == 0:
                        raise


def _write_below(to: IO[bytes], above: list[str], members: IO[bytes], implied: list[bytes]) -> None:
    """Write an archive with the directories `above` each other, and the members of another one in the last of them."""
    top = posixpath.join(*above)
    inside = [posixpath.join(top, path.decode(errors="surrogateescape")) for path in implied]
    to.write(_directories([posixpath.join(*above[: n + 1]) for n in range(len(above))] + inside, (0, 0), end=False))
    members.seek(0)
    with (
        tarfile.open(fileobj=members, errors="surrogateescape") as archive,
        tarfile.open(fileobj=to, mode="w", format=tarfile.PAX_FORMAT, errors="surrogateescape") as copy,
    ):
        for member in archive:
            content = archive.extractfile(member) if member.isfile() else None
            member.name = posixpath.normpath(posixpath.join(top, member.name))
            member.pax_headers = {}  # a long name is in there, too
            copy.addfile(member, content)
    to.seek(0)


def _make_directory(api: APIClient, container: str, directory: str, owner: tuple[int, int]) -> None:
    """Make a directory and those above it that are missing; existing ones keep their owners and modes."""
    existing = posixpath.normpath(directory)
    missing: list[str] = []
    while True:
        try:
            api.put_archive(container, existing, _directories(missing, owner))
            return
        except daemon.not_found():
            if existing == "/":
                raise
            above, name = posixpath.split(existing)
            missing = [name, *(posixpath.join(name, path) for path in missing)]
            existing = above


def _directories(paths: list[str], owner: tuple[int, int], *, end: bool = True) -> bytes:
    """Return an archive of directories; without its `end`, another archive may follow."""
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w", errors="surrogateescape") as archive:
        for path in paths:
            member = tarfile.TarInfo(path)
            member.type, member.mode, (member.uid, member.gid) = tarfile.DIRTYPE, 0o755, owner
            archive.addfile(member)
        size = archive.offset
    return stream.getvalue() if end else stream.getvalue()[:size]
