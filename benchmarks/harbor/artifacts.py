"""Artifacts: what is taken out of the agent's container, and put at the same places of a separate verifier's.

The content is the submission's, so only plain files, directories and links that stay inside their artifact are kept.
"""

from __future__ import annotations

import fnmatch
import io
import posixpath
import tarfile
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import IO, TYPE_CHECKING

from benchmarks.harbor.reading.taskfile import ArtifactPart
from benchmarks.judging.faults import EvaluatorFailed, SubmissionFailed
from environments.docker import daemon
from environments.protocol import EnvironmentFault, Started

if TYPE_CHECKING:
    from docker import APIClient

ALWAYS = ArtifactPart(source="/logs/artifacts")
"""Collected from every task."""
MOST_BYTES = 8 << 30
"""Largest size of all artifacts together. A larger one is a fault of the submission."""


@dataclass
class Collected:
    """An archive of artifacts, whose names are those in the container without the first slash."""

    archive: IO[bytes]
    missing: list[str] = field(default_factory=list)
    dropped: int = 0
    """Number of links that lead out of their artifact, and of special files."""
    bytes: int = 0


def collect(started: Started, parts: Sequence[ArtifactPart], to: IO[bytes]) -> Collected:
    """Write the artifacts of a container into an archive.

    Raises: SubmissionFailed if they are too large, EvaluatorFailed, EnvironmentUnavailable, DiskFull.
    """
    collected = Collected(to)
    with _client() as api, tarfile.open(fileobj=to, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for part in (*parts, ALWAYS):
            source = posixpath.normpath(posixpath.join(started.workdir, part.source))
            _take(api, _container(started), source, part, archive, collected)
    return collected


def place(started: Started, collected: Collected) -> None:
    """Put artifacts at their places in a container of the verifier. Missing directories are made.

    Raises: EvaluatorFailed, EnvironmentUnavailable, DiskFull.
    """
    container = _container(started)
    collected.archive.seek(0)
    with _client() as api, daemon.reported(f"putting the artifacts into container {container[:12]}"):
        api.put_archive(container, "/", collected.archive)


def _container(started: Started) -> str:
    if started.container is None:
        raise EvaluatorFailed(f"artifacts need a container, which {started.kind} is not")
    return started.container


@contextmanager
def _client() -> Iterator[APIClient]:
    api = daemon.connect()
    try:
        yield api
    finally:
        api.close()


def _take(
    api: APIClient, container: str, source: str, part: ArtifactPart, archive: tarfile.TarFile, collected: Collected
) -> None:
    with daemon.reported(f"reading {source} of container {container[:12]}"):
        try:
            chunks, _ = api.get_archive(container, source)
        except daemon.not_found():
            if part is not ALWAYS:
                collected.missing.append(source)
            return
        with closing(chunks):
            try:
                with tarfile.open(fileobj=_Chunks(chunks), mode="r|") as members:
                    _copy(members, source, part, archive, collected)
            except tarfile.TarError as error:
                raise EnvironmentFault(f"reading {source} of container {container[:12]} failed: {error}") from None


def _copy(
    members: tarfile.TarFile, source: str, part: ArtifactPart, archive: tarfile.TarFile, collected: Collected
) -> None:
    """Copy the members of one artifact that are kept, with their places in the container."""
    above = posixpath.dirname(source)
    files: set[str] = set()
    for member in members:
        name = posixpath.normpath(posixpath.join(above, member.name.rstrip("/")))
        if not PurePosixPath(name).is_relative_to(source):
            collected.dropped += 1
            continue
        if is_excluded(posixpath.relpath(name, above), part.exclude):
            continue
        copy = tarfile.TarInfo(name.lstrip("/"))
        copy.mtime, copy.type = member.mtime, member.type
        if member.isreg():
            files.add(name)
            copy.size, copy.mode = member.size, member.mode & 0o777 | 0o444
            collected.bytes += member.size
            if collected.bytes > MOST_BYTES:
                raise SubmissionFailed("disk", f"the artifacts have more than {MOST_BYTES >> 30} GiB")
            archive.addfile(copy, members.extractfile(member))
            continue
        if member.isdir():
            copy.mode = member.mode & 0o777 | 0o555
        elif member.islnk() and (target := posixpath.normpath(posixpath.join(above, member.linkname))) in files:
            copy.linkname = target.lstrip("/")
        elif member.issym() and stays_inside(name, member.linkname, source):
            copy.linkname = member.linkname
        else:
            collected.dropped += 1
            continue
        archive.addfile(copy)


def stays_inside(link: str, target: str, root: str) -> bool:
    """Return True if a symbolic link leads to a place below `root`, itself a directory.

    After a name, `..` is not allowed: the name may be another link, and then it leads elsewhere.
    """
    parts = target.split("/")
    named = False
    for part in parts:
        if part == ".." and named:
            return False
        named = named or part not in ("", ".", "..")
    place_of_target = posixpath.normpath(posixpath.join(posixpath.dirname(link), target))
    return link != root and PurePosixPath(place_of_target).is_relative_to(root)


def is_excluded(path: str, patterns: Sequence[str]) -> bool:
    """Return True if tar would leave a path out: a pattern matches the end of it, or of a directory above it."""
    parts = path.split("/")
    for end in range(1, len(parts) + 1):
        for begin in range(end):
            candidate = "/".join(parts[begin:end])
            if any(fnmatch.fnmatchcase(candidate, pattern.rstrip("/")) for pattern in patterns):
                return True
    return False


class _Chunks(io.RawIOBase):
    """The bytes of an iterator as a file that is read once."""

    def __init__(self, chunks: Iterator[bytes]) -> None:
        self._chunks = chunks
        self._rest = b""

    def readable(self) -> bool:
        """Return True."""
        return True

    def read(self, size: int = -1) -> bytes:
        """Return the next bytes; fewer than `size` only at the end."""
        parts, length = [self._rest], len(self._rest)
        while size < 0 or length < size:
            chunk = next(self._chunks, None)
            if chunk is None:
                break
            parts.append(chunk)
            length += len(chunk)
        data = b"".join(parts)
        size = length if size < 0 else size
        self._rest = data[size:]
        return data[:size]
