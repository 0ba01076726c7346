"""Reads a `workspace.tar.zst` as the state of a workspace, for trials without snapshots. Nothing is unpacked.

Memory is bounded: members are hashed as they are read, and only the contents of requested paths are held.
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
from trajectories.plain_files import open_plain
from trajectories.record.texts.paths import components, to_text
from trajectories.workspace.manifest import Manifest, PathState

_PIECE = 1 << 20
_MOST_BYTES = 64 << 30
"""Most bytes of an unpacked archive. It ends a decompression bomb."""
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
    """Return the manifest of an archive.

    Raises: RecordError if it cannot be read, is damaged, is larger than any workspace, or holds a path outside of it.
    """
    manifest: Manifest = {}
    with _members(path) as (tar, members):
        total = 0
        for text, member in members:
            mode, mtime_ns = member.mode & 0o7777, int(member.mtime * 10**9)
            if member.isdir():
                manifest[text] = PathState("directory", mode, None, mtime_ns)
            elif member.issym():
                manifest[text] = PathState("symlink", mode, None, mtime_ns, link=to_text(_raw(member.linkname)))
            elif member.islnk():
                target = manifest.get(_text(member.linkname))
                if target is None:
                    raise RecordError(f"{path}: {text!r} is a hard link to a file that is not in the archive")
                manifest[text] = target
            elif member.isreg():
                total += member.size
                if total > _MOST_BYTES:
                    raise RecordError(f"{path}: more than {_MOST_BYTES >> 30} GiB of files")
                hashed = hashlib.sha256()
                for piece in _pieces(tar, member):
                    hashed.update(piece)
                manifest[text] = PathState("file", mode, member.size, mtime_ns, sha256=hashed.hexdigest())
            else:
                manifest[text] = PathState("other", mode)
            if len(manifest) > _MOST_ENTRIES:
                raise RecordError(f"{path}: more than {_MOST_ENTRIES} paths")
    return manifest


def archive_contents(path: Path, wanted: Collection[str], most_bytes: int) -> dict[str, bytes]:
    """Return the contents of these paths, without files larger than `most_bytes`.

    Raises: RecordError as `archive_manifest` does.
    """
    contents: dict[str, bytes] = {}
    with _members(path) as (tar, members):
        for text, member in members:
            if member.islnk() and text in wanted and _text(member.linkname) in contents:
                contents[text] = contents[_text(member.linkname)]
            if text in wanted and member.isreg() and member.size <= most_bytes:
                contents[text] = b"".join(_pieces(tar, member))
    return contents


class _Bounded(tarfile.TarInfo):
    """A member whose header is bounded. tarfile reads a header's extension into memory at any size."""

    def _proc_member(self, tar: tarfile.TarFile) -> tarfile.TarInfo:
        if self.type in _HEADERS and self.size > _HEADER_BYTES:
            raise RecordError(f"a header has {self.size} bytes")
        return super()._proc_member(tar)  # type: ignore[misc, no-any-return]


@contextmanager
def _members(path: Path) -> Iterator[tuple[tarfile.TarFile, Iterator[tuple[str, tarfile.TarInfo]]]]:
    try:
        with (
            open_plain(path) as file,
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
        raise RecordError(f"{path}: not a complete tar archive in zstd ({error})") from None


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
    """Return the record's text for the name of a member. It is empty for the workspace itself."""
    raw = _raw(name)
    while raw.startswith(b"./"):
        raw = raw[2:]
    return "" if raw in (b"", b".") else to_text(raw)


def _raw(name: str) -> bytes:
    return name.encode("utf-8", "surrogateescape")
