"""What is in an archive: read with Python's tarfile, as someone else than the writer of it."""

from __future__ import annotations

import io
import tarfile
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Content:
    """One member; `body` of regular files of at most 1 MiB."""

    type: str
    mode: int
    uid: int
    gid: int
    size: int
    mtime: float
    link: str
    sparse: bool
    body: bytes


_TYPES = {tarfile.DIRTYPE: "directory", tarfile.SYMTYPE: "symlink", tarfile.LNKTYPE: "link"}


def contents(archive: Path | bytes) -> dict[str, Content]:
    """By name, of a tar.zst file or of the bytes of a tar stream."""
    if isinstance(archive, bytes):
        return _read(tarfile.open(fileobj=io.BytesIO(archive), encoding="utf-8", errors="surrogateescape"))
    import zstandard

    with archive.open("rb") as raw, zstandard.ZstdDecompressor().stream_reader(raw) as stream:
        return _read(tarfile.open(fileobj=stream, mode="r|", encoding="utf-8", errors="surrogateescape"))


def _read(archive: tarfile.TarFile) -> dict[str, Content]:
    found = {}
    with archive:
        for one in archive:
            body = archive.extractfile(one) if one.isreg() and one.size <= 1 << 20 else None
            found[one.name] = Content(
                _TYPES.get(one.type, "file" if one.isreg() else "other"),
                one.mode,
                one.uid,
                one.gid,
                one.size,
                one.mtime,
                one.linkname,
                one.issparse(),
                body.read() if body else b"",
            )
    return found


def tar_of(*members: tuple[tarfile.TarInfo, bytes], format: int = tarfile.GNU_FORMAT) -> io.BytesIO:
    """A tar stream of these."""
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w", format=format) as archive:
        for member, body in members:
            member.size = len(body)
            archive.addfile(member, io.BytesIO(body))
    stream.seek(0)
    return stream


def file(name: str, body: bytes = b"x", **facts: object) -> tuple[tarfile.TarInfo, bytes]:
    """A member for `tar_of`; `facts` are fields of TarInfo."""
    member = tarfile.TarInfo(name)
    for key, value in facts.items():
        setattr(member, key, value)
    return member, body


def joined(pieces: Iterable[bytes]) -> bytes:
    """A stream of chunks, whole."""
    return b"".join(pieces)
