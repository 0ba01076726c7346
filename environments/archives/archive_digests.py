"""What the files in a tar stream hold: their sha256, in one pass, in constant memory.

A sparse file is hashed with its holes, as whoever unpacks it would read it: a copy of a program that was made
sparse is the same program. Maps: old GNU and pax 1.0, see https://www.gnu.org/software/tar/manual/html_node/Sparse-Formats.html
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
    decimal,
    heads,
    number,
    padded,
    sparse_extensions,
)

_ZEROS = bytes(1 << 20)
_SEGMENTS = 1 << 22
"""Of one sparse file; 4 GiB in the smallest blocks of a file system that alternate with holes have half of it."""


def digests(chunks: Iterable[bytes], largest: int, most_zeros: int) -> Iterator[tuple[Member, str | None]]:
    """Each member, with the sha256 in hex of its content if it is a file of at most `largest` bytes.

    `most_zeros`: of the bytes of holes over all sparse files that are hashed. -1 for `largest` hashes nothing.

    Raises: BadArchive, also where the end of the archive is missing.
    """
    source = Source(chunks)
    for head in heads(source):
        for field in (head.blocks[-1][100:108], head.blocks[-1][136:148]):
            number(field)  # mode and time: who unpacks it stops at one that is none
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
            raise BadArchive("an archive with too much in holes of sparse files to be looked through")
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
            raise BadArchive(f"archive member {head.member.shown!r} has a map of its holes that cannot be")
        _zeros(hashed, offset - at)
        for piece in source.pieces(length):
            hashed.update(piece)
        at, stored = offset + length, stored - length
    _zeros(hashed, size - at)
    _skip(source, stored)
    return hashed.hexdigest()


def _layout(source: Source, head: Head) -> tuple[int, array[int] | None, int]:
    """The file's size, its segments of data (offset, length, ...; None if it has no holes), the bytes of them here."""
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
        raise BadArchive(f"archive member {head.member.shown!r} is sparse in a format (pax 0.x) that is not read here")
    return head.size, None, head.size


def _extend(segments: array[int], numbers: bytes, head: Head) -> None:
    for at in range(0, len(numbers), 24):
        entry = numbers[at : at + 24]
        if not entry.strip(b"\0"):
            return
        try:
            segments.extend((number(entry[:12]), number(entry[12:])))
        except OverflowError:
            raise BadArchive(f"archive member {head.member.shown!r} has a hole that cannot be") from None
    _check_count(segments, head)


def _read_map(source: Source, head: Head, segments: array[int]) -> int:
    """pax 1.0: a count and so many pairs in decimal lines, before the data and padded; what is left of the content."""
    left = head.size
    held = b""
    wanted = None
    while wanted is None or len(segments) < wanted:
        line, found, rest = held.partition(b"\n")
        if not found:
            if left < BLOCK or len(held) > BLOCK:
                raise BadArchive(f"archive member {head.member.shown!r} has no whole map of its holes")
            held, left = held + source.exact(BLOCK), left - BLOCK
            continue
        held = rest
        if wanted is None:
            wanted = 2 * decimal(line)
        else:
            segments.append(min(decimal(line), (1 << 64) - 1))
        _check_count(segments, head)
    return left


def _check_count(segments: array[int], head: Head) -> None:
    if len(segments) > 2 * _SEGMENTS:
        raise BadArchive(f"archive member {head.member.shown!r} has more than {_SEGMENTS} holes")


def _zeros(hashed: hashlib._Hash, count: int) -> None:
    while count > 0:
        hashed.update(_ZEROS if count >= len(_ZEROS) else _ZEROS[:count])
        count -= len(_ZEROS)


def _skip(source: Source, count: int) -> None:
    for _ in source.pieces(count):
        pass
