"""Blobs: files compressed with zstd, and named by the sha256 of their content.

A trial's folder is complete by itself: its blobs are hard links into the batch's pool, or copies if the file system has
no hard links. `trajectories.blobs.batch` writes many blobs at once.
"""

from __future__ import annotations

import hashlib
import os
import re
import tempfile
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import zstandard

from trajectories.errors import RecordError
from trajectories.plain_files import open_plain

LEVEL = 3
TEMPORARY = ".new-"
"""Beginning of the name of a file that is being written. A writer that was killed may leave one behind."""
_PIECE = 1 << 20
_SHA256 = re.compile("[0-9a-f]{64}")


def sync_directory(directory: Path) -> None:
    """Make the names in a directory survive a power failure."""
    descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


class BlobStore:
    """The blobs of one trial, `<trial>/blobs/ab/cdef....zst`, shared with other trials through `<batch>/.pool`."""

    def __init__(self, directory: Path, pool: Path | None = None) -> None:
        self.directory = directory
        self._here = os.fspath(directory)
        self._shared = None if pool is None else os.fspath(pool)
        self._new_directories = True

    def put(self, data: bytes) -> str:
        """Store the bytes durably and return their sha256 in hex."""
        digest = hashlib.sha256(data).hexdigest()
        path = self.path(digest)
        if path.exists():
            return digest
        if self.has(digest):
            sync_directory(path.parent)
            return digest
        return self.put_pieces((data,))

    def put_pieces(self, pieces: Iterable[bytes]) -> str:
        """Store bytes that come in pieces, and return their sha256 in hex."""
        digest = hashlib.sha256()
        compressor = zstandard.ZstdCompressor(level=LEVEL).compressobj()
        self.directory.mkdir(parents=True, exist_ok=True)
        handle, temporary = tempfile.mkstemp(dir=self.directory, prefix=TEMPORARY)
        try:
            with os.fdopen(handle, "wb") as file:
                for piece in pieces:
                    digest.update(piece)
                    file.write(compressor.compress(piece))
                file.write(compressor.flush())
                file.flush()
                os.fdatasync(file.fileno())
            name = digest.hexdigest()
            if self.has(name):
                os.unlink(temporary)
            else:
                self.publish(temporary, name)
            sync_directory(self.path(name).parent)
        except BaseException:
            Path(temporary).unlink(missing_ok=True)
            raise
        return name

    def get(self, digest: str, most_bytes: int = 1 << 30) -> bytes:
        """Return the bytes with this sha256.

        Raises: RecordError if the blob is missing, damaged, larger than `most_bytes`, or has another hash.
        """
        return b"".join(self.pieces(digest, most_bytes))

    def pieces(self, digest: str, most_bytes: int = 1 << 30) -> Iterator[bytes]:
        """Yield the bytes with this sha256 piece by piece, in constant memory.

        Raises: RecordError as `get` does, at the latest after the last piece.
        """
        path = self._at(self._here, digest)
        hashed = hashlib.sha256()
        size = 0
        try:
            with open_plain(path) as file, zstandard.ZstdDecompressor().stream_reader(file) as reader:
                while piece := reader.read(min(_PIECE, most_bytes - size + 1)):
                    size += len(piece)
                    if size > most_bytes:
                        raise RecordError(f"{path}: the blob holds more than {most_bytes} bytes")
                    hashed.update(piece)
                    yield piece
        except FileNotFoundError:
            raise RecordError(f"{path}: the blob is missing") from None
        except zstandard.ZstdError as error:
            raise RecordError(f"{path}: the blob is damaged ({error})") from None
        except OSError as error:
            raise RecordError(f"{path}: the blob cannot be read ({error.strerror})") from None
        if hashed.hexdigest() != digest:
            raise RecordError(f"{path}: the blob's content does not have the hash in its name")

    def has(self, digest: str) -> bool:
        """Return True if the trial has the blob, also if it was just linked from the pool.

        A blob that a power failure may have torn never has its final name.
        """
        path = self._at(self._here, digest)
        if os.path.exists(path):
            return True
        return self._shared is not None and self._link(self._at(self._shared, digest), path)

    def publish(self, temporary: str, digest: str) -> None:
        """Give a written and synced file its name, here and in the pool.

        The trial's name comes first, because `agent gc` deletes a blob of the pool that is not linked from a trial.
        """
        path = self._at(self._here, digest)
        if self._shared is None or not self._link(temporary, path):  # without a pool, or without hard links
            self._make_parent(path)
            os.replace(temporary, path)
            return
        pooled = self._at(self._shared, digest)
        try:
            self._with_parent(os.replace, temporary, pooled)
        except OSError:  # the pool is on another file system
            os.unlink(temporary)

    def path(self, digest: str) -> Path:
        """Return the path of the trial's blob.

        Raises: RecordError if the digest is not a sha256. It comes from a record, and must not name any other file.
        """
        return Path(self._at(self._here, digest))

    def sync_directories(self) -> None:
        """Make the directories that hold blobs survive a power failure, if any may be new."""
        if self._new_directories:
            sync_directory(self.directory)
            sync_directory(self.directory.parent)
            self._new_directories = False

    @staticmethod
    def _at(root: str, digest: str) -> str:
        if not _SHA256.fullmatch(digest):
            raise RecordError(f"{digest[:80]!r} is not a sha256, so it cannot name a blob")
        return f"{root}/{digest[:2]}/{digest[2:]}.zst"

    def _link(self, source: str, path: str) -> bool:
        """Link a file, and return True if there is one at `path` now."""
        if not os.path.exists(source):
            return False
        try:
            self._with_parent(os.link, source, path)
        except FileExistsError:
            return True
        except OSError:
            return False
        return True

    def _with_parent(self, make: Callable[[str, str], None], source: str, path: str) -> None:
        try:
            make(source, path)
        except FileNotFoundError:
            self._make_parent(path)
            make(source, path)

    def _make_parent(self, path: str) -> None:
        os.makedirs(os.path.dirname(path), exist_ok=True)
        self._new_directories = True
