"""An iterator of bytes as a file that can be read once, from its beginning to its end."""

from __future__ import annotations

import io
from collections.abc import Iterable, Iterator
from typing import BinaryIO, cast

_BUFFER_BYTES = 1 << 18


def as_file(chunks: Iterable[bytes]) -> BinaryIO:
    """The chunks one after the other; what is read of them is all that is held."""
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
