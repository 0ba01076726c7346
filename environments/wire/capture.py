"""Capture of an output as it arrives, up to its cap: small ones in memory, large ones in a file.

64 MiB of output must not cost the harness as much memory.
"""

from __future__ import annotations

import errno
import tempfile
import time
from collections.abc import Callable

from environments.protocol import DiskFull, EnvironmentLost
from environments.wire.incoming import Incoming
from trajectories.blobs.spooled import PIECE_BYTES, Spooled

IN_MEMORY_BYTES = 1 << 20


def capture(incoming: Incoming, size: int, total: int, cap: int, idle_s: float) -> tuple[bytes | Spooled, int]:
    """Read `size` bytes, of `total` that were written.

    Return the kept output, at most `cap` bytes, and the number of bytes that were written.

    Raises: EnvironmentLost, DiskFull.
    """
    if size <= IN_MEMORY_BYTES:
        return incoming.take(size, time.monotonic() + idle_s)[:cap], max(size, total)

    def write(append: Callable[[bytes | memoryview], object]) -> int:
        buffer = memoryview(bytearray(PIECE_BYTES))
        read = 0
        while read < size:
            piece = buffer[: min(size - read, PIECE_BYTES)]
            incoming.fill(piece, time.monotonic() + idle_s)
            append(piece)
            read += len(piece)
        return min(size, cap)

    return _kept(write, size), max(size, total)


def extended(output: bytes | Spooled, more: bytes) -> bytes | Spooled:
    """Return an output with more bytes at its end.

    Raises: EnvironmentLost, DiskFull.
    """
    if isinstance(output, bytes) or not more:
        return output + more if isinstance(output, bytes) else output
    size = len(output) + len(more)

    def write(append: Callable[[bytes | memoryview], object]) -> int:
        for piece in output.pieces():
            append(piece)
        append(more)
        return size

    return _kept(write, size)


def _kept(write: Callable[[Callable[[bytes | memoryview], object]], int], size: int) -> Spooled:
    try:
        return Spooled(write)
    except OSError as error:
        kind = DiskFull if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG) else EnvironmentLost
        raise kind(f"an output of {size} bytes cannot be kept in {tempfile.gettempdir()}: {error}") from error
