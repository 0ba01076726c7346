"""From an exported workspace to the `submission.tar.gz` that the official evaluator takes.

Two passes: the first hashes every file, the second writes what may stay. Nothing is unpacked, nothing is held.
The evaluator extracts as root and keeps owners, so all is owned by 0:0, and it deletes known files in a way that a
quote in a name defeats, so they are left out here, by content.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import tarfile
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, cast

from benchmarks.programbench.parallel_gzip import compressed
from environments.archives.archive import BadArchive, Judge, Member, filtered, inside_only
from environments.archives.archive_digests import digests
from environments.archives.chunks import read_chunks
from environments.archives.left_out import is_harmless
from trajectories.record.parts import Skipped
from trajectories.record.paths import to_text

NAME = "submission.tar.gz"
LEVEL = 4
"""Of gzip. 260 MB of programs and documents: 4.2 s of CPU and 88 MB; with level 6 7.8 s and 86 MB."""
LARGEST_WITHHELD = 4 << 30
"""A file that is larger is no program that has to be withheld, and is not hashed."""
MOST_ZEROS = 64 << 30
_ROOT_OWNER = (0, 0)


class HandOverError(Exception):
    """There is no whole submission, and none was left behind; one line."""


@dataclass(frozen=True)
class HandOver:
    """A submission that was written."""

    sha256: str
    """Of the file: the same workspace gives the same bytes."""
    bytes: int
    entries: int
    """Members, the workspace itself included."""
    removed: tuple[str, ...]
    """What was withheld, each name as records spell it, sorted."""


def hand_over(workspace: Path, to: Path, withheld: Collection[str]) -> HandOver:
    """Write the submission of a workspace (tar.zst): all of it, `.git` too, without files of these sha256 (hex).

    Such a file is left out under each of its names, also the hard-linked ones.

    Raises: HandOverError.
    """
    temporary = to.with_name(f".{to.name}.{os.getpid()}")
    try:
        seen = _look_through(workspace, frozenset(map(str.lower, withheld)))
        judge = _Withholding(seen)
        digest, size = hashlib.sha256(), 0
        with temporary.open("wb") as file:
            for piece in compressed(_submission(workspace, judge, seen.root_first), LEVEL):
                digest.update(piece)
                size += file.write(piece)
        os.replace(temporary, to)
    except BadArchive as error:
        raise HandOverError(f"{workspace}: {error}; no submission can be made of it") from None
    except OSError as error:
        raise HandOverError(f"no submission {to} of {workspace}: {error}") from None
    finally:
        with contextlib.suppress(OSError):
            temporary.unlink()
    return HandOver(digest.hexdigest(), size, judge.entries + (not seen.root_first), tuple(sorted(judge.removed)))


def check_complete(skipped: Iterable[Skipped]) -> None:
    """Pass only an export that left nothing out but what has no content, or a name too long for any archive.

    Raises: HandOverError naming the first path that could not be read as it was.
    """
    unread = [one for one in skipped if not is_harmless(one.why)]
    if unread:
        more = f" (and {len(unread) - 1} more)" if unread[1:] else ""
        raise HandOverError(
            f"the export is not whole: {unread[0].path!r}{more} could not be read as it was ({unread[0].why}), "
            "so there is nothing to submit"
        )


@dataclass(frozen=True)
class _Seen:
    """What the first pass found."""

    root_first: bool
    """Whether the workspace itself comes first in its archive."""
    unwanted: frozenset[int]
    """Members with a withheld content, counted from 0."""
    linked: frozenset[bytes]
    """Paths that hard links are to."""


def _look_through(workspace: Path, withheld: frozenset[str]) -> _Seen:
    root_first = False
    unwanted: set[int] = set()
    linked: set[bytes] = set()
    largest = LARGEST_WITHHELD if withheld else -1
    for at, (member, digest) in enumerate(digests(_plain(workspace), largest, MOST_ZEROS)):
        if at == 0:
            root_first = member.type == b"5" and not _path(member.name)
        if member.type == b"1":
            linked.add(_path(member.link))
        if digest in withheld:
            unwanted.add(at)
    return _Seen(root_first, frozenset(unwanted), frozenset(linked))


def _submission(workspace: Path, judge: Judge, root_first: bool) -> Iterator[bytes]:
    if not root_first:
        root = tarfile.TarInfo("./")
        root.type, root.mode = tarfile.DIRTYPE, 0o755
        yield root.tobuf(tarfile.GNU_FORMAT)
    yield from filtered(_plain(workspace), judge, _ROOT_OWNER)


class _Withholding:
    """Leaves out the members with these numbers, and the hard links to them."""

    def __init__(self, seen: _Seen) -> None:
        self.entries = 0
        self.removed: list[str] = []
        self._seen = seen
        self._at = -1
        self._inside = inside_only(lambda _: None)
        self._there: dict[bytes, bool] = {}
        """Of the paths that hard links are to and that came by: whether they went through."""

    def __call__(self, member: Member) -> bool:
        self._at += 1
        self._inside(member)
        path = _path(member.name)
        through = self._at not in self._seen.unwanted
        if member.type == b"1":
            target = self._there.get(_path(member.link))
            if target is None:
                raise BadArchive(f"archive member {member.shown!r} is a hard link to what is not there")
            through = target
        if path in self._seen.linked:
            self._there[path] = through
        if through:
            self.entries += 1
        else:
            self.removed.append(to_text(path))
        return through


def _path(name: bytes) -> bytes:
    return b"/".join(part for part in name.split(b"/") if part not in (b"", b"."))


def _plain(workspace: Path) -> Iterator[bytes]:
    """The tar in a tar.zst.

    Raises: BadArchive where it is none, OSError.
    """
    import zstandard

    try:
        with (
            workspace.open("rb") as file,
            zstandard.ZstdDecompressor().stream_reader(file, read_across_frames=True) as plain,
        ):
            yield from read_chunks(cast(BinaryIO, plain))
    except zstandard.ZstdError as error:
        raise BadArchive(f"not a whole tar.zst ({error})") from None
