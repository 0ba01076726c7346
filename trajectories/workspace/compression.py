"""Compression formats, recognized by the first bytes of a file."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

Compression = Literal["gzip", "bzip2", "xz", "zstd"]

_MAGIC: Mapping[Compression, bytes] = {
    "gzip": b"\x1f\x8b",
    "bzip2": b"BZh",
    "xz": b"\xfd7zXZ\x00",
    "zstd": b"\x28\xb5\x2f\xfd",
}


def compression_of(head: bytes) -> Compression | None:
    """Return the compression of a file that begins with these bytes, or None if they are those of no format."""
    for compression, magic in _MAGIC.items():
        if head.startswith(magic):
            return compression
    return None
