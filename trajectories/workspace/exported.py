"""Reads a `workspace.tar.zst` as a workspace's state: for trials without snapshots. Nothing is unpacked.

Bounded: members are hashed as they go by, contents are held only for the paths that are asked for.
"""

from __future__ import annotations

import hashlib
import tarfile
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, cast

import zstandard

from trajectories.errors import RecordError
from trajectories.record.paths import components, to_text
from trajectories.workspace.manifest import Manifest, PathState

_PIECE = 1 << 20
_MOST_BYTES = 64 << 30
"""Of an archive, unpacked: a bomb ends here."""
_MOST_ENTRIES = 2_000_000
_HEADER_BYTES = 1 << 20
_HEADERS = (
    tarfile.XHDTYPE,
    tarfile.XGLTYPE,
    tarfile.SOLARIS_XHDTYPE,
    tarfile.GNUTYPE_LONGNAME,
    tarfile.GNUTYPE_LONGLINK,
)


def archive_manifest(path: Path) -> Manifest:
    """What is in the archive.

    Raises: RecordError if it cannot be read, is damaged, larger than any workspace, or climbs out of it.
    """
    found: Manifest = {}
    with _members(path) as (tar, members):
        total = 0
        for text, member in members:
            mode, mtime_ns = member.mode & 0o7777, int(member.mtime * 10**9)
            if member.isdir():
                found[text] = PathState("directory", mode, None, mtime_ns)
            elif member.issym():
                found[text] = PathState("symlink", mode, None, mtime_ns, link=to_text(_raw(member.linkname)))
            elif member.islnk():
                target = found.get(_text(member.linkname))
                if target is None:
                    raise RecordError(f"{path}: {text!r} is a hard link to what is not in the archive")
                found[text] = target
            elif member.isreg():
                total += member.size
                if total > _MOST_BYTES:
                    raise RecordError(f"{path}: more than {_MOST_BYTES >> 30} GiB of files")
                hashed = hashlib.sha256()
                for piece in _pieces(tar, member):
                    hashed.update(piece)
                found[text] = PathState("file", mode, member.size, mtime_ns, sha256=hashed.hexdigest())
            else:
                found[text] = PathState("other", mode)
            if len(found) > _MOST_ENTRIES:
                raise RecordError(f"{path}: more than {_MOST_ENTRIES} paths")
    return found


def archive_contents(path: Path, wanted: Collection[str], most_bytes: int) -> dict[str, bytes]:
    """The contents of these paths, without files larger than `most_bytes`.

    Raises: RecordError as `archive_manifest` does.
    """
    found: dict[str, bytes] = {}
    with _members(path) as (tar, members):
        for text, member in members:
            if member.islnk() and text in wanted and _text(member.linkname) in found:
                found[text] = found[_text(member.linkname)]
            if text in wanted and member.isreg() and member.size <= most_bytes:
                found[text] = b"".join(_pieces(tar, member))
    return found


class _Bounded(tarfile.TarInfo):
    """tarfile reads a header's extension whole into memory, whatever size it says."""

    def _proc_member(self, tar: tarfile.TarFile) -> tarfile.TarInfo:
        if self.type in _HEADERS and self.size > _HEADER_BYTES:
            raise RecordError(f"a header of {self.size} bytes")
        return super()._proc_member(tar)  # type: ignore[misc, no-any-return]


@contextmanager
def _members(path: Path) -> Iterator[tuple[tarfile.TarFile, Iterator[tuple[str, tarfile.TarInfo]]]]:
    try:
        with (
            path.open("rb") as file,
            zstandard.ZstdDecompressor().stream_reader(file) as plain,
            tarfile.open(fileobj=cast(BinaryIO, plain), mode="r|", encoding="utf-8", errors="surrogateescape") as tar,
        ):
            yield tar, _named(tar)
    except RecordError as error:
        raise RecordError(f"{path}: {error}" if str(path) not in str(error) else str(error)) from None
    except (
        OSError,
        EOFError,
        tarfile.TarError,
        zstandard.ZstdError,
        ValueError,
        OverflowError,
        RecursionError,
    ) as error:
        raise RecordError(f"{path}: not a whole tar archive in zstd ({error})") from None


def _named(tar: tarfile.TarFile) -> Iterator[tuple[str, tarfile.TarInfo]]:
    for member in tar:
        tar.members.clear()  # type: ignore[attr-defined]  # it would hold every header
        text = _text(member.name)
        if text:
            components(text)
            yield text, member


def _pieces(tar: tarfile.TarFile, member: tarfile.TarInfo) -> Iterator[bytes]:
    content = tar.extractfile(member)
    while content is not None and (piece := content.read(_PIECE)):
        yield piece


def _text(name: str) -> str:
    """The record's text of a member's name; empty for the workspace itself."""
    raw = _raw(name)
    while raw.startswith(b"./"):
        raw = raw[2:]
    return "" if raw in (b"", b".") else to_text(raw)


def _raw(name: str) -> bytes:
    return name.encode("utf-8", "surrogateescape")
