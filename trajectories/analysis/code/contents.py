"""The bytes of a workspace, from the blobs of its snapshots or from the exported archive.

This is the only module of the analysis that reads files other than `events.jsonl`.
"""

from __future__ import annotations

import tarfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import zstandard

from trajectories.analysis.code.languages import LARGEST_SOURCE_BYTES, ignored
from trajectories.blobs.store import BlobStore
from trajectories.errors import RecordError
from trajectories.plain_files import open_plain
from trajectories.record.events import Change
from trajectories.record.layout import TrialFolder

_MOST_BYTES = 4 << 30
"""Unpacked bytes of an archive after which the rest is ignored."""
_MOST_FILES = 200_000
"""Members of an archive after which the rest is ignored."""


@dataclass(frozen=True)
class StoredFile:
    """A regular file of a workspace; `content` is None if it is too large to be source or cannot be read."""

    path: str
    size: int
    content: bytes | None


class Contents:
    """The contents that a trial's snapshots refer to by hash."""

    def __init__(self, trial: Path) -> None:
        self._store = BlobStore(TrialFolder(trial).blobs)

    def of(self, change: Change) -> bytes | None:
        """Return a changed file's content; None if it was not kept, is missing, damaged or too large to be source."""
        return self.up_to(change, LARGEST_SOURCE_BYTES)

    def up_to(self, change: Change, largest: int) -> bytes | None:
        """Return the content as `of` does, with another bound in bytes."""
        if change.sha256 is None or not change.kept or (change.size or 0) > largest:
            return None
        try:
            return self._store.get(change.sha256, largest)
        except (RecordError, OSError):
            return None


def archived_files(trial: Path) -> Iterator[StoredFile] | None:
    """Return the regular files of the exported workspace; None if there is no such archive."""
    path = TrialFolder(trial).workspace
    return _unpacked(path) if path.is_file() else None


def _unpacked(path: Path) -> Iterator[StoredFile]:
    """Unpack the archive as it is read.

    Raises: RecordError if the archive is damaged.
    """
    total = files = 0
    try:
        with (
            open_plain(path) as file,
            zstandard.ZstdDecompressor().stream_reader(file) as reader,
            tarfile.open(fileobj=reader, mode="r|") as archive,
        ):
            for member in archive:
                name = member.name.removeprefix("./").strip("/")
                total += member.size
                files += 1
                if total > _MOST_BYTES or files > _MOST_FILES:
                    return
                if not member.isreg() or not name or ignored(name):
                    continue
                handle = archive.extractfile(member) if member.size <= LARGEST_SOURCE_BYTES else None
                yield StoredFile(name, member.size, handle.read() if handle is not None else None)
    except (tarfile.TarError, zstandard.ZstdError, EOFError, OSError, ValueError) as error:
        raise RecordError(f"{path}: the exported workspace cannot be read ({error or type(error).__name__})") from None
