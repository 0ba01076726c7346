"""gzip on all cores with reproducible output: one member without name and time.

Each piece is compressed separately, with the 32 KiB before it as its dictionary, as in pigz. RFC 1952, RFC 1951.
"""

from __future__ import annotations

import os
import struct
import zlib
from collections import deque
from collections.abc import Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor

PIECE_BYTES = 1 << 19
"""Size of a piece. It is fixed, because another size changes the output."""
_WINDOW_BYTES = 1 << 15
_HEADER = b"\x1f\x8b\x08\0\0\0\0\0\0\xff"
_MOST_THREADS = 8


def compressed(chunks: Iterable[bytes], level: int) -> Iterator[bytes]:
    """Compress chunks to one gzip file, which is returned piece by piece; zlib runs without Python's lock."""
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
            for future in waiting:
                yield future.result()
            yield b"\x03\0"  # an empty last block
            yield struct.pack("<LL", check, size & 0xFFFFFFFF)
        finally:
            for future in waiting:
                future.cancel()


def _deflated(piece: bytes, window: bytes, level: int) -> bytes:
    compressor = zlib.compressobj(level, zlib.DEFLATED, -zlib.MAX_WBITS, zdict=window)
    return compressor.compress(piece) + compressor.flush(zlib.Z_SYNC_FLUSH)


def _pieces(chunks: Iterable[bytes]) -> Iterator[bytes]:
    """Cut the chunks into pieces of the same size; only the last may be smaller."""
    buffer = bytearray()
    for chunk in chunks:
        buffer += chunk
        while len(buffer) >= PIECE_BYTES:
            yield bytes(buffer[:PIECE_BYTES])
            del buffer[:PIECE_BYTES]
    if buffer:
        yield bytes(buffer)
