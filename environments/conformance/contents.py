"""The content of an archive, read independently of the code that wrote it, with Python's tarfile."""

from __future__ import annotations

import io
import tarfile
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Content:
    """One member of an archive; only regular files of at most 1 MiB have a `body`."""

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
    """Return the members of a tar.zst file or of the bytes of a tar stream, by name."""
    if isinstance(archive, bytes):
        return _read(tarfile.open(fileobj=io.BytesIO(archive), encoding="utf-8", errors="surrogateescape"))
    import zstandard

    with archive.open("rb") as raw, zstandard.ZstdDecompressor().stream_reader(raw) as stream:
        return _read(tarfile.open(fileobj=stream, mode="r|", encoding="utf-8", errors="surrogateescape"))


def _read(archive: tarfile.TarFile) -> dict[str, Content]:
    members = {}
    with archive:
        for member in archive:
            body = archive.extractfile(member) if member.isreg() and member.size <= 1 << 20 else None
            members[member.name] = Content(
                _TYPES.get(member.type, "file" if member.isreg() else "other"),
                member.mode,
                member.uid,
                member.gid,
                member.size,
                member.mtime,
                member.linkname,
                member.issparse(),
                body.read() if body else b"",
            )
    return members


def tar_of(*members: tuple[tarfile.TarInfo, bytes], format: int = tarfile.GNU_FORMAT) -> io.BytesIO:
    """Make a tar stream of these members."""
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w", format=format) as archive:
        for member, body in members:
            member.size = len(body)
            archive.addfile(member, io.BytesIO(body))
    stream.seek(0)
    return stream


def file(name: str, body: bytes = b"x", **facts: object) -> tuple[tarfile.TarInfo, bytes]:
    """Make a member for `tar_of`; `facts` are fields of TarInfo."""
    member = tarfile.TarInfo(name)
    for key, value in facts.items():
        setattr(member, key, value)
    return member, body


def joined(pieces: Iterable[bytes]) -> bytes:
    """Return a stream of chunks as bytes."""
    return b"".join(pieces)
