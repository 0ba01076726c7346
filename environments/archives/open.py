"""Archives that a user names: tar, tar.gz or tar.zst, recognized by their first bytes and not by their names."""

from __future__ import annotations

from pathlib import Path
from typing import BinaryIO, Literal, cast

from trajectories.workspace.compression import compression_of

ArchiveKind = Literal["tar", "tar.gz", "tar.zst"]

_HEAD_BYTES = 512
_USTAR_AT = 257


def archive_kind(path: Path) -> ArchiveKind | None:
    """Return the kind of an archive by its first bytes, or None if they are those of no archive.

    The content of a compressed file is not examined, and a plain tar has to be ustar, pax or GNU.

    Raises: OSError.
    """
    with path.open("rb") as file:
        head = file.read(_HEAD_BYTES)
    compression = compression_of(head)
    if compression == "gzip":
        return "tar.gz"
    if compression == "zstd":
        return "tar.zst"
    return "tar" if head[_USTAR_AT : _USTAR_AT + 5] == b"ustar" else None


def open_archive(path: Path) -> BinaryIO:
    """Open an archive as the tar stream in it, which is decompressed as it is read.

    A file of an unknown kind is opened as it is, so that old tar files without a magic number can be read.

    Raises: OSError; reading raises OSError, EOFError, zlib.error or zstandard.ZstdError.
    """
    kind = archive_kind(path)
    if kind == "tar.zst":
        import zstandard

        return zstandard.open(path, "rb")  # type: ignore[no-any-return]
    if kind == "tar.gz":
        import gzip

        return cast(BinaryIO, gzip.open(path, "rb"))
    return path.open("rb")
