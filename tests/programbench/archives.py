"""Workspaces as our exports write them: a tar made by GNU tar or by tarfile, in zstd; and what is in a submission."""

from __future__ import annotations

import io
import subprocess
import tarfile
from pathlib import Path

import zstandard

PROGRAM = b"\x7fELF the original" + bytes(range(256)) * 40
"""A content that is withheld."""
TAR = ("tar", "-c", "-S", "--numeric-owner", "--owner=0", "--group=0", "--sort=name", "-f", "-")


def export_of(directory: Path, to: Path, *options: str) -> Path:
    """A directory as an export, by the same tar options."""
    plain = subprocess.run([*TAR, *options, "-C", str(directory), "."], check=True, capture_output=True).stdout
    return packed(plain, to)


def packed(plain: bytes, to: Path) -> Path:
    """A tar in zstd."""
    to.write_bytes(zstandard.ZstdCompressor(level=3).compress(plain))
    return to


def tar_of(members: list[tuple[tarfile.TarInfo, bytes]], format: int = tarfile.GNU_FORMAT) -> bytes:
    """These members in this order."""
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w", format=format, encoding="utf-8", errors="surrogateescape") as archive:
        for info, data in members:
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))
    return made.getvalue()


def member(name: str, data: bytes = b"", **fields: object) -> tuple[tarfile.TarInfo, bytes]:
    """One member."""
    info = tarfile.TarInfo(name)
    for key, value in fields.items():
        setattr(info, key, value)
    return info, data


def submitted(path: Path) -> dict[str, tuple[tarfile.TarInfo, bytes | None]]:
    """The members of a submission by name, in order, with the files' contents."""
    with tarfile.open(path, "r:gz", encoding="utf-8", errors="surrogateescape") as archive:
        found = {}
        for info in archive:
            content = archive.extractfile(info) if info.isreg() or info.islnk() else None
            found[info.name] = info, content.read() if content else None
        return found
