"""Bringing the files of the tests into a container, and reading the files that they leave, through its daemon.

The daemon works as the host's root, so it needs no program of the container, which the submission may have replaced.
"""

from __future__ import annotations

import io
import tarfile
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing, suppress
from typing import IO, TYPE_CHECKING

from benchmarks.judging.faults import HostFailed, SubmissionFailed, cause_of
from benchmarks.judging.system.script_run import RESULT_BYTES
from benchmarks.task.task import TaskError
from benchmarks.task.tree import Tree
from environments.docker import daemon

if TYPE_CHECKING:
    from docker import APIClient

_IN_MEMORY_BYTES = 32 << 20
_HEADER_BYTES = 64 << 10
"""Room for the headers of an archive that holds one file."""


def stage(api: APIClient, container: str, top: str, trees: Iterable[Tree]) -> None:
    """Put trees below a new directory of the container, named `0`, `1`, ...; only root can enter that directory.

    Raises: TaskError if a file cannot be read, EnvironmentUnavailable, DiskFull.
    """
    with tempfile.SpooledTemporaryFile(_IN_MEMORY_BYTES) as packed:
        _pack(packed, top.lstrip("/"), trees)
        packed.seek(0)
        with daemon.reported(f"putting the tests into container {container[:12]}"):
            api.put_archive(container, "/", packed)


def _pack(to: IO[bytes], top: str, trees: Iterable[Tree]) -> None:
    with tarfile.open(fileobj=to, mode="w", format=tarfile.PAX_FORMAT, errors="surrogateescape") as tar:
        tar.addfile(_member(top, tarfile.DIRTYPE, 0o700))
        for number, tree in enumerate(trees):
            tar.addfile(_member(f"{top}/{number}", tarfile.DIRTYPE, 0o755))
            for entry in tree.entries:
                path = entry.path.decode("utf-8", "surrogateescape")
                name = f"{top}/{number}/{path}"
                if entry.type == "directory":
                    tar.addfile(_member(name, tarfile.DIRTYPE, 0o755))
                elif entry.type == "symlink":
                    link = _member(name, tarfile.SYMTYPE, 0o777)
                    link.linkname = entry.target.decode("utf-8", "surrogateescape")
                    tar.addfile(link)
                else:
                    _add(tar, _member(name, tarfile.REGTYPE, 0o755 if entry.mode & 0o111 else 0o644), tree, path)


def _add(tar: tarfile.TarFile, member: tarfile.TarInfo, tree: Tree, path: str) -> None:
    try:
        with (tree.root / path).open("rb") as file:
            member.size = file.seek(0, io.SEEK_END)
            file.seek(0)
            tar.addfile(member, file)
    except OSError as error:
        if cause_of(error) == "host":  # for instance, no space for the archive
            raise HostFailed(f"packing the tests failed: {error.strerror}") from None
        raise TaskError(f"{tree.root}/{path}: cannot be read: {error.strerror or error}") from None


def _member(name: str, type_: bytes, mode: int) -> tarfile.TarInfo:
    member = tarfile.TarInfo(name)
    member.type, member.mode = type_, mode
    return member


def fetched(api: APIClient, container: str, paths: Iterable[str]) -> Mapping[str, bytes]:
    """Return the contents of these files of a container, as far as they exist and are plain files.

    Raises: SubmissionFailed if one is too large, EnvironmentUnavailable.
    """
    contents: dict[str, bytes] = {}
    for path in paths:
        content = _content(api, container, path)
        if content is not None:
            contents[path] = content
    return contents


def fetched_small(api: APIClient, container: str, paths: Iterable[str]) -> Mapping[str, bytes]:
    """Return the contents of these files as far as they exist, are plain files, and are not too large.

    Raises: EnvironmentUnavailable.
    """
    contents: dict[str, bytes] = {}
    for path in paths:
        with suppress(SubmissionFailed):
            contents.update(fetched(api, container, (path,)))
    return contents


def _content(api: APIClient, container: str, path: str) -> bytes | None:
    """Return the content of a plain file, None if there is none. The daemon does not follow a link at this path."""
    with daemon.reported(f"reading {path} of container {container[:12]}"):
        try:
            chunks, facts = api.get_archive(container, path)
        except daemon.not_found():
            return None
        with closing(chunks):
            if int(facts.get("size", 0)) > RESULT_BYTES and not facts.get("mode", 0) >> 31:
                raise SubmissionFailed("result", f"{path} has more than {RESULT_BYTES >> 20} MiB")
            data = _bounded(chunks, RESULT_BYTES + _HEADER_BYTES)
    try:
        with tarfile.open(fileobj=io.BytesIO(data)) as tar:
            member = tar.next()
            file = tar.extractfile(member) if member is not None and member.isreg() else None
            return file.read() if file is not None else None
    except tarfile.TarError:  # cut off: it is a directory, or it grew meanwhile
        return None


def _bounded(chunks: Iterator[bytes], most: int) -> bytes:
    data = bytearray()
    for chunk in chunks:
        data += chunk
        if len(data) > most:
            break
    return bytes(data)
