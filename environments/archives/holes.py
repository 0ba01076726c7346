"""Making files sparse again in an archive of a program that writes holes out as zeros, as a Docker daemon does.

Every long run of zeros becomes a hole, in GNU tar's PAX format 1.0 for sparse files:
https://www.gnu.org/software/tar/manual/html_node/PAX-1.html
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Iterator
from typing import IO

from environments.archives.archive import BLOCK, FILES, Head, Source, heads, padded, record, sized, sparse_extensions

LARGE_BYTES = 1 << 20
"""Size of the smallest file that is looked through. Its data is held back until its holes are known."""
_RUN_BYTES = 1 << 16
"""Size and alignment of the zeros that become a hole."""
_IN_MEMORY_BYTES = 8 << 20
_ZEROS = bytes(_RUN_BYTES)
_OCTAL_BYTES = 8 << 30
"""Size from which a header cannot hold the size of its content in octal digits."""


def restored(chunks: Iterable[bytes]) -> Iterator[bytes]:
    """Yield the archive with the holes of its large files as holes.

    Raises: BadArchive, OSError.
    """
    source = Source(chunks)
    for head in heads(source):
        if head.member.type in FILES[:3] and head.size >= LARGE_BYTES and b"GNU.sparse.name" not in head.pax:
            yield from _restored_file(source, head)
            continue
        yield from head.blocks
        yield from sparse_extensions(source, head)
        yield from source.pieces(padded(head.size))
    yield bytes(2 * BLOCK)
    source.drain()


def _restored_file(source: Source, head: Head) -> Iterator[bytes]:
    with tempfile.SpooledTemporaryFile(_IN_MEMORY_BYTES) as data:
        parts = _without_zeros(source, head.size, data)
        stored = data.tell()
        data.seek(0)
        if stored == head.size:
            yield from head.blocks
        else:
            numbers = [len(parts), *(number for part in parts for number in part)]
            index = b"".join(b"%d\n" % number for number in numbers)
            index += bytes(-len(index) % BLOCK)
            yield _headers(head, len(index) + stored)
            yield index
        while piece := data.read(1 << 20):
            yield piece
        yield bytes(-stored % BLOCK)


def _without_zeros(source: Source, size: int, data: IO[bytes]) -> list[tuple[int, int]]:
    """Write what is not in a long run of zeros to `data`; return the offset and length of each part of it."""
    parts: list[tuple[int, int]] = []
    for offset in range(0, size, _RUN_BYTES):
        length = min(_RUN_BYTES, size - offset)
        run = source.exact(length)
        if run == _ZEROS[:length]:
            continue
        data.write(run)
        if parts and sum(parts[-1]) == offset:
            parts[-1] = parts[-1][0], parts[-1][1] + length
        else:
            parts.append((offset, length))
    source.exact(padded(size) - size)
    if not parts or sum(parts[-1]) != size:
        parts.append((size, 0))  # a file that ends with a hole
    return parts


def _headers(head: Head, size: int) -> bytes:
    """Return the headers of a sparse file whose map and data have this size."""
    pax = {key: value for key, value in head.pax.items() if key not in (b"path", b"size")}
    pax |= {
        b"GNU.sparse.major": b"1",
        b"GNU.sparse.minor": b"0",
        b"GNU.sparse.name": head.member.name,
        b"GNU.sparse.realsize": b"%d" % head.size,
    }
    if size >= _OCTAL_BYTES:
        pax[b"size"] = b"%d" % size
    body = b"".join(record(key, value) for key, value in pax.items())
    own = head.blocks[-1]
    own = own[:257] + b"ustar\x0000" + own[265:345] + bytes(BLOCK - 345)  # only this format has such maps
    extended = sized(own[:156] + b"x" + own[157:], len(body))
    return extended + body + bytes(-len(body) % BLOCK) + sized(own, size % _OCTAL_BYTES)
