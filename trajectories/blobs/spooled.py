"""Bytes that are too many for memory, in a file without a name. They vanish with the object that holds them."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterator
from typing import Any

PIECE_BYTES = 1 << 18


class Spooled:
    """Bytes in a file. Everything except the length and `pieces` reads all of them into memory."""

    def __init__(self, write: Callable[[Callable[[bytes | memoryview], object]], int]) -> None:
        """Call `write` with a function that appends bytes. It returns the number of bytes that belong to the object.

        Raises: OSError.
        """
        self._file = tempfile.TemporaryFile(prefix="retrace-")  # noqa: SIM115
        self._size = write(self._file.write)
        self._file.flush()

    def __len__(self) -> int:
        return self._size

    def pieces(self, size: int = PIECE_BYTES) -> Iterator[bytes]:
        """Yield all bytes in order. Each call starts from the beginning."""
        at = 0
        while at < self._size:
            piece = os.pread(self._file.fileno(), min(size, self._size - at), at)
            at += len(piece)
            yield piece

    def __bytes__(self) -> bytes:
        return b"".join(self.pieces())

    def __eq__(self, other: object) -> bool:
        return bytes(self) == (bytes(other) if isinstance(other, Spooled) else other)

    __hash__ = None  # type: ignore[assignment]

    def __getitem__(self, key: Any) -> Any:
        return bytes(self)[key]

    def __contains__(self, part: bytes) -> bool:
        return part in bytes(self)

    def __repr__(self) -> str:
        return f"<{self._size} spooled bytes>"

    def __getattr__(self, name: str) -> Any:
        """Return any other method of bytes."""
        if name.startswith("_"):
            raise AttributeError(name)
        return getattr(bytes(self), name)
