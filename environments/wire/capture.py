"""Capture of an output as it arrives, up to its mark and its cap: small ones in memory, large ones in a file.

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


def capture(
    incoming: Incoming, mark: bytes, size: int, total: int, cap: int, idle_s: float
) -> tuple[bytes | Spooled, int]:
    """Read `size` bytes, of `total` that were written. Whatever follows `mark` belongs to no action.

    Return the kept output, at most `cap` bytes, and the number of bytes that were written.

    Raises: EnvironmentLost, DiskFull.
    """
    if not size:
        return b"", total
    if size <= IN_MEMORY_BYTES:
        output = incoming.take(size, time.monotonic() + idle_s)
        at = output.find(mark)
        if at >= 0:
            size = total = at
        return output[: min(size, cap)], max(size, total)
    marked_at = -1

    def write(append: Callable[[bytes | memoryview], object]) -> int:
        nonlocal marked_at
        buffer = memoryview(bytearray(len(mark) + PIECE_BYTES))
        over, read = 0, 0
        while read < size:
            count = min(size - read, PIECE_BYTES)
            fresh = buffer[over : over + count]
            incoming.fill(fresh, time.monotonic() + idle_s)
            if marked_at < 0:
                append(fresh)
                at = bytes(buffer[: over + count]).find(mark)
                if at >= 0:
                    marked_at = read - over + at
            read += count
            keep = min(len(mark) - 1, over + count)
            buffer[:keep] = bytes(buffer[over + count - keep : over + count])
            over = keep
        return min(size if marked_at < 0 else marked_at, cap)

    spooled = _kept(write, size)
    return spooled, marked_at if marked_at >= 0 else max(size, total)


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
