"""The sha256 of each file in a tar stream, in one pass and in constant memory.

A sparse file is hashed with its holes, as it would read after unpacking: a sparse copy of a program is the same
program. Maps: old GNU and pax 1.0, see https://www.gnu.org/software/tar/manual/html_node/Sparse-Formats.html
"""

from __future__ import annotations

import hashlib
from array import array
from collections.abc import Iterable, Iterator

from environments.archives.archive import (
    BLOCK,
    FILES,
    BadArchive,
    Head,
    Member,
    Source,
    TooSparse,
    decimal,
    heads,
    number,
    padded,
    sparse_extensions,
)

_ZEROS = bytes(1 << 20)
_SEGMENTS = 1 << 22
"""The most segments of a sparse file. 4 GiB in the smallest blocks, alternating with holes, have half as many."""


def digests(chunks: Iterable[bytes], largest: int, most_zeros: int) -> Iterator[tuple[Member, str | None]]:
    """Yield each member, with the sha256 in hex of its content if it is a file of at most `largest` bytes.

    `most_zeros` limits the bytes of all holes that are hashed. If `largest` is -1, nothing is hashed.

    Raises: BadArchive, also if the end of the archive is missing.
    """
    source = Source(chunks)
    for head in heads(source):
        for field in (head.blocks[-1][100:108], head.blocks[-1][136:148]):
            number(field)  # mode and time: unpacking stops at an invalid one
        if head.member.type not in FILES:
            yield head.member, None
            continue
        size, segments, stored = _layout(source, head)
        padding = padded(head.size) - head.size
        if size > largest:
            _skip(source, stored + padding)
            yield head.member, None
            continue
        most_zeros -= max(0, size - stored)
        if most_zeros < 0:
            raise TooSparse("an archive with too much in holes of sparse files to be looked through")
        yield head.member, _digest(source, head, size, segments, stored)
        _skip(source, padding)
    if source.exact(BLOCK).strip(b"\0"):
        raise BadArchive("the archive ends too early")
    source.drain()


def _digest(source: Source, head: Head, size: int, segments: array[int] | None, stored: int) -> str:
    hashed = hashlib.sha256()
    at = 0
    for offset, length in zip(segments[::2], segments[1::2], strict=True) if segments is not None else ((0, size),):
        if offset < at or offset + length > size or length > stored:
            raise BadArchive(f"archive member {head.member.shown!r} has an invalid sparse map")
        _zeros(hashed, offset - at)
        for piece in source.pieces(length):
            hashed.update(piece)
        at, stored = offset + length, stored - length
    _zeros(hashed, size - at)
    _skip(source, stored)
    return hashed.hexdigest()


def _layout(source: Source, head: Head) -> tuple[int, array[int] | None, int]:
    """Return the file's size, its data segments (offset, length, ...; None without holes) and their bytes here."""
    header, pax = head.blocks[-1], head.pax
    segments: array[int] = array("Q")
    if head.member.type == b"S":
        _extend(segments, header[386:482], head)
        for block in sparse_extensions(source, head):
            _extend(segments, block[:504], head)
        return number(header[483:495]), segments, head.size
    if pax.get(b"GNU.sparse.major") == b"1":
        stored = _read_map(source, head, segments)
        return decimal(pax.get(b"GNU.sparse.realsize", b"")), segments, stored
    if any(key.startswith(b"GNU.sparse.") for key in pax):
        raise BadArchive(f"archive member {head.member.shown!r} is sparse in a format that is not supported (pax 0.x)")
    return head.size, None, head.size


def _extend(segments: array[int], numbers: bytes, head: Head) -> None:
    for at in range(0, len(numbers), 24):
        entry = numbers[at : at + 24]
        if not entry.strip(b"\0"):
            return
        try:
            segments.extend((number(entry[:12]), number(entry[12:])))
        except OverflowError:
            raise BadArchive(f"archive member {head.member.shown!r} has an invalid hole") from None
    _check_count(segments, head)


def _read_map(source: Source, head: Head, segments: array[int]) -> int:
    """Read a map of pax 1.0 (a count, then pairs, as decimal lines, padded); return the bytes of data after it."""
    left = head.size
    held = b""
    expected = None
    while expected is None or len(segments) < expected:
        line, newline, rest = held.partition(b"\n")
        if not newline:
            if left < BLOCK or len(held) > BLOCK:
                raise BadArchive(f"archive member {head.member.shown!r} has an incomplete sparse map")
            held, left = held + source.exact(BLOCK), left - BLOCK
            continue
        held = rest
        if expected is None:
            expected = 2 * decimal(line)
        else:
            segments.append(min(decimal(line), (1 << 64) - 1))
        _check_count(segments, head)
    return left


def _check_count(segments: array[int], head: Head) -> None:
    if len(segments) > 2 * _SEGMENTS:
        raise TooSparse(f"archive member {head.member.shown!r} has more than {_SEGMENTS} holes")


def _zeros(hashed: hashlib._Hash, count: int) -> None:
    while count > 0:
        hashed.update(_ZEROS if count >= len(_ZEROS) else _ZEROS[:count])
        count -= len(_ZEROS)


def _skip(source: Source, count: int) -> None:
    for _ in source.pieces(count):
        pass
