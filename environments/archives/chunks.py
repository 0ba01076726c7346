"""Conversions between a binary file and an iterator over its bytes, both in constant memory."""

from __future__ import annotations

import io
from collections.abc import Iterable, Iterator
from typing import BinaryIO, cast

_BUFFER_BYTES = 1 << 18


def read_chunks(stream: BinaryIO, size: int = 1 << 20) -> Iterator[bytes]:
    """Yield the bytes of a file in pieces of at most `size` bytes."""
    while piece := stream.read(size):
        yield piece


def as_file(chunks: Iterable[bytes]) -> BinaryIO:
    """Return a file that can be read once, front to back, and whose content is the chunks in order.

    Only the chunk that is being read is held in memory.
    """
    return cast(BinaryIO, io.BufferedReader(_Chunks(chunks), _BUFFER_BYTES))


class _Chunks(io.RawIOBase):
    def __init__(self, chunks: Iterable[bytes]) -> None:
        self._chunks: Iterator[bytes] = iter(chunks)
        self._held = memoryview(b"")

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        while not self._held:
            piece = next(self._chunks, None)
            if piece is None:
                return 0
            self._held = memoryview(piece)
        count = min(len(buffer), len(self._held))
        buffer[:count] = self._held[:count]
        self._held = self._held[count:]
        return count
