"""A filter for tar streams: every member is judged, and only headers are held in memory.

Sparse and very long files pass unchanged. Formats: ustar, pax and GNU, see
https://www.gnu.org/software/tar/manual/html_node/Standard.html and pax(1).
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from dataclasses import dataclass

from environments.protocol import EnvironmentFault

BLOCK = 512
_FORWARD_BYTES = 1 << 18
_EXTENSION_BYTES = 1 << 20
"""The largest name or pax header that is accepted."""
SPECIAL = {b"3": "character device", b"4": "block device", b"6": "named pipe"}
FILES = (b"0", b"\0", b"7", b"S")
_BODILESS = (b"1", b"2", b"3", b"4", b"5", b"6")


class BadArchive(EnvironmentFault):
    """A tar stream that is truncated, malformed, or would write outside of its directory."""


class TooSparse(BadArchive):
    """A whole archive whose sparse files are more than can be looked through."""


@dataclass(frozen=True)
class Member:
    """One member of an archive."""

    name: bytes
    type: bytes
    """The type flag of its header."""
    link: bytes
    size: int = 0
    """Size of its content in bytes, with the holes of a sparse file left out."""

    @property
    def shown(self) -> str:
        return self.name.decode("utf-8", "backslashreplace")


Judge = Callable[[Member], bool]
"""Returns True if a member may pass; raises BadArchive to reject the entire archive."""


def inside_only(implied: Callable[[bytes], None]) -> Judge:
    """Return a judge that rejects archives that could write outside of the directory they are unpacked in.

    Links may point anywhere, but nothing may be written through a link of the archive. `implied` is called with each
    directory that holds members without being in the archive itself.
    """
    links: set[bytes] = set()
    directories: set[bytes] = {b""}

    def inner(name: bytes, member: Member) -> list[bytes]:
        parts = [part for part in name.split(b"/") if part not in (b"", b".")]
        if name.startswith(b"/") or b".." in parts:
            raise BadArchive(f"archive member {member.shown!r} reaches out of its directory")
        for depth in range(1, len(parts) if links else 0):
            if b"/".join(parts[:depth]) in links:
                raise BadArchive(f"archive member {member.shown!r} reaches through a symbolic link of the archive")
        return parts

    def judge(member: Member) -> bool:
        if member.type in SPECIAL:
            raise BadArchive(f"archive member {member.shown!r} is a {SPECIAL[member.type]}")
        parts = inner(member.name, member)
        path, above = b"/".join(parts), b"/".join(parts[:-1])
        if above not in directories:
            implied(above)
            directories.update(b"/".join(parts[:depth]) for depth in range(1, len(parts)))
        if member.type == b"5":
            directories.add(path)
        if member.type == b"1":
            inner(member.link, member)
        if member.type == b"2":
            links.add(path)
        else:
            links.discard(path)
        return True

    return judge


def plain_only(judge: Judge) -> Judge:
    """Return a judge that also rejects archives with anything but plain files and directories."""

    def plain(member: Member) -> bool:
        if member.type not in FILES and member.type != b"5":
            raise BadArchive(f"archive member {member.shown!r} is neither a plain file nor a directory")
        return judge(member)

    return plain


def filtered(chunks: Iterable[bytes], judge: Judge, owner: tuple[int, int] | None = None) -> Iterator[bytes]:
    """Yield the archive without the members that `judge` rejects, with `owner` (uid, gid) in every header.

    Raises: BadArchive.
    """
    source = Source(chunks)
    ready: list[bytes] = []
    size = 0
    for piece in _members(source, judge, owner):
        ready.append(piece)
        size += len(piece)
        if size >= _FORWARD_BYTES:
            yield b"".join(ready)
            ready, size = [], 0
    ready.append(bytes(2 * BLOCK))
    yield b"".join(ready)
    source.drain()


@dataclass(frozen=True)
class Head:
    """The headers of a member. Its content has to be read from the source before the next head is requested."""

    member: Member
    blocks: tuple[bytes, ...]
    """All headers that belong to the member; its own is the last."""
    size: int
    """Bytes of its content in the archive, without padding."""
    pax: Mapping[bytes, bytes]


def heads(source: Source) -> Iterator[Head]:
    """Yield the heads of an archive's members, up to the block of zeros that ends it.

    Raises: BadArchive.
    """
    extensions: list[bytes] = []
    long_name = long_link = None
    pax: dict[bytes, bytes] = {}
    while True:
        header = source.exact(BLOCK)
        if not header.strip(b"\0"):
            return
        _check(header)
        kind = header[156:157]
        size = number(header[124:136])
        if kind in b"xLKg":
            if not 0 <= size <= _EXTENSION_BYTES:
                raise BadArchive(f"an archive header of {size} bytes")
            body = source.exact(padded(size))
            if kind == b"L":
                long_name = body[:size].partition(b"\0")[0]
            elif kind == b"K":
                long_link = body[:size].partition(b"\0")[0]
            else:
                records = dict(_records(body[:size]))
                if kind == b"g" and records.keys() & {b"path", b"linkpath", b"size"}:
                    raise BadArchive("an archive with a global header that names files")
                pax |= records if kind == b"x" else {}
            extensions.append(header + body)
            continue
        name = pax.get(b"GNU.sparse.name") or pax.get(b"path") or long_name or _name(header)
        size = decimal(pax[b"size"]) if b"size" in pax else size
        member = Member(name, kind, pax.get(b"linkpath") or long_link or header[157:257].partition(b"\0")[0], size)
        if kind not in FILES and kind not in _BODILESS:
            raise BadArchive(f"archive member {member.shown!r} is of an unknown kind ({kind!r})")
        if size < 0 or (size and kind in _BODILESS):
            raise BadArchive(f"archive member {member.shown!r} has {size} bytes, which its kind cannot have")
        yield Head(member, (*extensions, header), size, pax)
        extensions, long_name, long_link, pax = [], None, None, {}


def sparse_extensions(source: Source, head: Head) -> Iterator[bytes]:
    """Yield the blocks that continue the map of an old GNU sparse file; there are none for any other member."""
    header = head.blocks[-1]
    more = head.member.type == b"S" and header[482:483] not in (b"\0", b"")
    while more:
        block = source.exact(BLOCK)
        more = block[504:505] not in (b"\0", b"")
        yield block


def _members(source: Source, judge: Judge, owner: tuple[int, int] | None) -> Iterator[bytes]:
    for head in heads(source):
        through = judge(head.member)
        if through:
            yield from _owned_blocks(head.blocks, owner) if owner else head.blocks
        for block in sparse_extensions(source, head):
            if through:
                yield block
        for piece in source.pieces(padded(head.size)):
            if through:
                yield piece


class Source:
    """A sequence of chunks that is read by count."""

    def __init__(self, chunks: Iterable[bytes]) -> None:
        self._chunks = iter(chunks)
        self._held = b""
        self._at = 0

    def pieces(self, size: int) -> Iterator[bytes]:
        while size:
            if self._at == len(self._held):
                self._held, self._at = next(self._chunks, b""), 0
                if not self._held:
                    raise BadArchive("the archive ends too early")
            piece = self._held[self._at : self._at + size]
            self._at += len(piece)
            size -= len(piece)
            yield piece

    def exact(self, size: int) -> bytes:
        if self._at + size <= len(self._held):
            self._at += size
            return self._held[self._at - size : self._at]
        return b"".join(self.pieces(size))

    def drain(self) -> None:
        for _ in self._chunks:
            pass


def _check(header: bytes) -> None:
    if sum(header) - sum(header[148:156]) + 256 != number(header[148:156]):
        raise BadArchive("an archive header has a wrong checksum, so this is not a tar archive, or a damaged one")


def padded(size: int) -> int:
    """Return the bytes that a content of this size takes in an archive."""
    return -(-size // BLOCK) * BLOCK


def number(field: bytes) -> int:
    """Parse a number in a header: octal digits, or base 256.

    Raises: BadArchive.
    """
    if field[0] & 0x80:
        return int.from_bytes(bytes([field[0] & 0x7F]) + field[1:], "big")
    digits = field.partition(b"\0")[0].strip()
    if digits.strip(b"01234567"):
        raise BadArchive(f"an archive header has {field!r} for a number")
    return int(digits or b"0", 8)


def decimal(digits: bytes) -> int:
    """Parse a number in a pax header, or in the map of a sparse file.

    Raises: BadArchive.
    """
    if not digits.isdigit() or len(digits) > 20:
        raise BadArchive(f"an archive header has {digits[:40]!r} for a number")
    return int(digits)


def _name(header: bytes) -> bytes:
    name = header[:100].partition(b"\0")[0]
    prefix = header[345:500].partition(b"\0")[0] if header[257:263] == b"ustar\0" else b""
    return prefix + b"/" + name if prefix else name


def _records(body: bytes) -> Generator[tuple[bytes, bytes], None, None]:
    """Yield the records of a pax header: `LENGTH KEY=VALUE\\n`, where the length counts the whole record."""
    while body:
        digits, _, _ = body.partition(b" ")
        if not digits.isdigit() or not 0 < int(digits) <= len(body):
            raise BadArchive("an archive has a malformed pax header")
        key, _, value = body[len(digits) + 1 : int(digits) - 1].partition(b"=")
        yield key, value
        body = body[int(digits) :]


def _owned_blocks(blocks: Iterable[bytes], owner: tuple[int, int]) -> Iterator[bytes]:
    *extensions, header = blocks
    for extension in extensions:
        yield _without_owner(extension) if extension[156:157] in b"xg" else extension
    yield _owned(header, owner)


def _without_owner(extension: bytes) -> bytes:
    header = extension[:BLOCK]
    body = b""
    for key, value in _records(extension[BLOCK : BLOCK + number(header[124:136])]):
        if key not in (b"uid", b"gid", b"uname", b"gname"):
            body += record(key, value)
    return sized(header, len(body)) + body + bytes(-len(body) % BLOCK)


def record(key: bytes, value: bytes) -> bytes:
    """Return a record of a pax header."""
    rest = b" " + key + b"=" + value + b"\n"
    length = len(rest) + len(str(len(rest)))
    return b"%d" % (len(rest) + len(str(length))) + rest


def sized(header: bytes, size: int) -> bytes:
    """Return a header for another size of its content, below 8 GiB."""
    return _summed(header[:124] + b"%011o\0" % size + header[136:])


def _owned(header: bytes, owner: tuple[int, int]) -> bytes:
    ids = b"".join(_id(number) for number in owner)
    return _summed(header[:108] + ids + header[124:265] + bytes(64) + header[329:])


@functools.lru_cache(8)
def _id(number: int) -> bytes:
    return b"%07o\0" % number if number < 1 << 21 else b"\x80" + number.to_bytes(7, "big")


def _summed(header: bytes) -> bytes:
    total = sum(header) - sum(header[148:156]) + 256
    return header[:148] + b"%06o\0 " % total + header[156:]
