"""Exported workspaces, made with GNU tar or tarfile and compressed with zstd, and the content of submissions."""

from __future__ import annotations

import io
import subprocess
import tarfile
from pathlib import Path

import zstandard

PROGRAM = b"\x7fELF the original" + bytes(range(256)) * 40
"""Content that must be withheld."""
TAR = ("tar", "-c", "-S", "--numeric-owner", "--owner=0", "--group=0", "--sort=name", "-f", "-")


def export_of(directory: Path, to: Path, *options: str) -> Path:
    """Export a directory with the tar options of a real export."""
    plain = subprocess.run([*TAR, *options, "-C", str(directory), "."], check=True, capture_output=True).stdout
    return packed(plain, to)


def packed(plain: bytes, to: Path) -> Path:
    """Compress a tar with zstd."""
    to.write_bytes(zstandard.ZstdCompressor(level=3).compress(plain))
    return to


def tar_of(members: list[tuple[tarfile.TarInfo, bytes]], format: int = tarfile.GNU_FORMAT) -> bytes:
    """Return a tar of these members in this order."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=format, encoding="utf-8", errors="surrogateescape") as archive:
        for info, data in members:
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))
    return buffer.getvalue()


def member(name: str, data: bytes = b"", **fields: object) -> tuple[tarfile.TarInfo, bytes]:
    """Return a member with its data."""
    info = tarfile.TarInfo(name)
    for key, value in fields.items():
        setattr(info, key, value)
    return info, data


def submitted(path: Path) -> dict[str, tuple[tarfile.TarInfo, bytes | None]]:
    """Return the members of a submission by name, in order, with the contents of files."""
    with tarfile.open(path, "r:gz", encoding="utf-8", errors="surrogateescape") as archive:
        members = {}
        for info in archive:
            content = archive.extractfile(info) if info.isreg() or info.islnk() else None
            members[info.name] = info, content.read() if content else None
        return members
