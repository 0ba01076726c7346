"""The hand-over: an exported workspace becomes the `submission.tar.gz` that the official evaluator reads.

Two passes over the archive: the first hashes every file, the second writes the files that may stay. Nothing is
unpacked or kept in memory. The evaluator extracts as root and keeps owners, so 0:0 owns every file. It also deletes
known files, but a quote in a name stops that, so such files are left out here, by content.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import tarfile
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, cast

from benchmarks.programbench.parallel_gzip import compressed
from environments.archives.archive import SPECIAL, BadArchive, Judge, Member, TooSparse, filtered, inside_only
from environments.archives.archive_digests import digests
from environments.archives.chunks import read_chunks
from trajectories.record.parts import Skipped
from trajectories.record.texts.paths import to_text

SUBMISSION = "submission.tar.gz"
LEVEL = 4
"""Level of gzip. For 260 MB of programs and documents: 4.2 s of CPU and 88 MB; level 6 takes 7.8 s for 86 MB."""
LARGEST_WITHHELD = 4 << 30
"""Largest file that is hashed: a larger one cannot be a program to withhold."""
MOST_ZEROS = 64 << 30
"""Largest number of bytes in holes of sparse files that are hashed."""
_ROOT_OWNER = (0, 0)
_HARMLESS_BEFORE_1_2 = re.compile(r"socket|its (path|name) has more than \d+ bytes|" + "|".join(SPECIAL.values()))
"""Reasons in records that have no `harmless` yet."""


class HandOverError(Exception):
    """There is no complete submission, and no part of one was left behind; the message is one line."""


class Unsubmittable(HandOverError):
    """The workspace is whole, but no submission can be made of what the agent left in it."""


@dataclass(frozen=True)
class HandOver:
    """A written submission."""

    sha256: str
    """sha256 of the file; the same workspace gives the same bytes."""
    bytes: int
    entries: int
    """Number of members, including the workspace itself."""
    removed: tuple[str, ...]
    """Names of the withheld files as records spell them, sorted."""


def hand_over(workspace: Path, to: Path, withheld: Collection[str]) -> HandOver:
    """Write the submission of a workspace (tar.zst): everything, with `.git`, except files with these sha256 (hex).

    Such a file is left out under each of its names, including hard links.

    Raises: HandOverError.
    """
    temporary = to.with_name(f".{to.name}.{os.getpid()}")
    try:
        survey = _survey(workspace, frozenset(map(str.lower, withheld)))
        judge = _Withholding(survey)
        digest, size = hashlib.sha256(), 0
        with temporary.open("wb") as file:
            for piece in compressed(_submission(workspace, judge, survey.root_first), LEVEL):
                digest.update(piece)
                size += file.write(piece)
        os.replace(temporary, to)
    except TooSparse as error:
        raise Unsubmittable(f"{workspace}: {error}; no submission can be made of it") from None
    except BadArchive as error:
        raise HandOverError(f"{workspace}: {error}; no submission can be made of it") from None
    except OSError as error:
        raise HandOverError(f"no submission {to} of {workspace}: {error}") from None
    finally:
        with contextlib.suppress(OSError):
            temporary.unlink()
    return HandOver(digest.hexdigest(), size, judge.entries + (not survey.root_first), tuple(sorted(judge.removed)))


def check_complete(skipped: Iterable[Skipped]) -> None:
    """Accept only an export without gaps, except entries without content and names too long for any archive.

    Raises: HandOverError with the first path that could not be read unchanged.
    """
    unread = [entry for entry in skipped if not _is_harmless(entry)]
    if unread:
        more = f" (and {len(unread) - 1} more)" if unread[1:] else ""
        raise HandOverError(
            f"the export is incomplete: {unread[0].path!r}{more} could not be read unchanged ({unread[0].why}), "
            "so there is nothing to submit"
        )


def _is_harmless(entry: Skipped) -> bool:
    if entry.harmless is not None:
        return entry.harmless
    return _HARMLESS_BEFORE_1_2.fullmatch(entry.why) is not None


@dataclass(frozen=True)
class _Survey:
    """The results of the first pass."""

    root_first: bool
    """True if the workspace itself comes first in its archive."""
    unwanted: frozenset[int]
    """Members with a withheld content, counted from 0."""
    linked: frozenset[bytes]
    """Targets of hard links."""


def _survey(workspace: Path, withheld: frozenset[str]) -> _Survey:
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
    return _Survey(root_first, frozenset(unwanted), frozenset(linked))


def _submission(workspace: Path, judge: Judge, root_first: bool) -> Iterator[bytes]:
    if not root_first:
        root = tarfile.TarInfo("./")
        root.type, root.mode = tarfile.DIRTYPE, 0o755
        yield root.tobuf(tarfile.GNU_FORMAT)
    yield from filtered(_plain(workspace), judge, _ROOT_OWNER)


class _Withholding:
    """Leaves out the unwanted members and the hard links to them."""

    def __init__(self, survey: _Survey) -> None:
        self.entries = 0
        self.removed: list[str] = []
        self._survey = survey
        self._at = -1
        self._inside = inside_only(lambda _: None)
        self._kept_targets: dict[bytes, bool] = {}
        """Targets of hard links that have been passed; False for those that were left out."""

    def __call__(self, member: Member) -> bool:
        self._at += 1
        self._inside(member)
        path = _path(member.name)
        keep = self._at not in self._survey.unwanted
        if member.type == b"1":
            target_kept = self._kept_targets.get(_path(member.link))
            if target_kept is None:
                raise BadArchive(f"archive member {member.shown!r} is a hard link to what is not there")
            keep = target_kept
        if path in self._survey.linked:
            self._kept_targets[path] = keep
        if keep:
            self.entries += 1
        else:
            self.removed.append(to_text(path))
        return keep


def _path(name: bytes) -> bytes:
    return b"/".join(part for part in name.split(b"/") if part not in (b"", b"."))


def _plain(workspace: Path) -> Iterator[bytes]:
    """Return the tar in a tar.zst.

    Raises: BadArchive if it is not a complete tar.zst, OSError.
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
