"""gzip on all cores, with the same bytes each time: one member, no name, no time.

The pieces are compressed apart, each with the 32 KiB before it as its dictionary, as pigz does. RFC 1952, RFC 1951.
"""

from __future__ import annotations

import os
import struct
import zlib
from collections import deque
from collections.abc import Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor

PIECE_BYTES = 1 << 19
"""Fixed: other pieces make other bytes."""
_WINDOW_BYTES = 1 << 15
_HEADER = b"\x1f\x8b\x08\0\0\0\0\0\0\xff"
_MOST_THREADS = 8


def compressed(chunks: Iterable[bytes], level: int) -> Iterator[bytes]:
    """The chunks as one gzip file, piece by piece; zlib lets other threads run meanwhile."""
    threads = min(os.cpu_count() or 1, _MOST_THREADS)
    check = size = 0
    window = b""
    with ThreadPoolExecutor(threads) as pool:
        waiting: deque[Future[bytes]] = deque()
        try:
            yield _HEADER
            for piece in _pieces(chunks):
                waiting.append(pool.submit(_deflated, piece, window, level))
                check, size, window = zlib.crc32(piece, check), size + len(piece), piece[-_WINDOW_BYTES:]
                if len(waiting) > 2 * threads:
                    yield waiting.popleft().result()
            for done in waiting:
                yield done.result()
            yield b"\x03\0"  # an empty last block
            yield struct.pack("<LL", check, size & 0xFFFFFFFF)
        finally:
            for one in waiting:
                one.cancel()


def _deflated(piece: bytes, window: bytes, level: int) -> bytes:
    compressor = zlib.compressobj(level, zlib.DEFLATED, -zlib.MAX_WBITS, zdict=window)
    return compressor.compress(piece) + compressor.flush(zlib.Z_SYNC_FLUSH)


def _pieces(chunks: Iterable[bytes]) -> Iterator[bytes]:
    """All of one size but the last."""
    held = bytearray()
    for chunk in chunks:
        held += chunk
        while len(held) >= PIECE_BYTES:
            yield bytes(held[:PIECE_BYTES])
            del held[:PIECE_BYTES]
    if held:
        yield bytes(held)
