"""Content-addressed blobs: zstd files named by the sha256 of what they hold.

A trial's folder stays whole by itself: its blobs are hard links into the batch's pool, or copies
where the file system has no hard links.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import tempfile
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import BinaryIO

import zstandard

from trajectories.errors import RecordError

_LEVEL = 3


def sync_directory(directory: Path) -> None:
    """Make new names in a directory survive a power failure."""
    descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


class BlobStore:
    """`<trial>/blobs/ab/cdef....zst`, shared over trials through `<batch>/.pool`."""

    def __init__(self, directory: Path, pool: Path | None = None) -> None:
        self._directory = directory
        self._pool = pool

    def put(self, data: bytes) -> str:
        """Store the bytes durably and return their sha256 in hex."""
        digest = hashlib.sha256(data).hexdigest()
        compressed = zstandard.ZstdCompressor(level=_LEVEL).compress
        self._place(digest, lambda path: self._write(path, lambda file: file.write(compressed(data))))
        return digest

    def put_pieces(self, pieces: Iterable[bytes]) -> str:
        """The same for what does not fit into memory."""
        digest = hashlib.sha256()
        self._directory.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=self._directory) as spool:
            compressor = zstandard.ZstdCompressor(level=_LEVEL).compressobj()
            for piece in pieces:
                digest.update(piece)
                spool.write(compressor.compress(piece))
            spool.write(compressor.flush())

            def copy(file: BinaryIO) -> None:
                spool.seek(0)
                shutil.copyfileobj(spool, file, 1 << 20)

            self._place(digest.hexdigest(), lambda path: self._write(path, copy))
        return digest.hexdigest()

    def _place(self, digest: str, write: Callable[[Path], None]) -> None:
        path = self._path(self._directory, digest)
        if path.exists():
            return
        path.parent.mkdir(parents=True, exist_ok=True)
        if self._pool is None:
            write(path)
            return
        pooled = self._path(self._pool, digest)
        if not pooled.exists():
            pooled.parent.mkdir(parents=True, exist_ok=True)
            write(pooled)
        try:
            os.link(pooled, path)
        except FileExistsError:
            pass
        except OSError:
            write(path)

    def get(self, digest: str, most_bytes: int = 1 << 30) -> bytes:
        """The bytes with this sha256, at most `most_bytes` of them.

        Raises: RecordError if the blob is missing, damaged, larger, or not what its name says.
        """
        path = self._path(self._directory, digest)
        try:
            with path.open("rb") as file, zstandard.ZstdDecompressor().stream_reader(file) as reader:
                data = reader.read(most_bytes + 1)
        except FileNotFoundError:
            raise RecordError(f"{path}: the blob is missing") from None
        except zstandard.ZstdError as error:
            raise RecordError(f"{path}: the blob is damaged ({error})") from None
        if len(data) > most_bytes:
            raise RecordError(f"{path}: the blob holds more than {most_bytes} bytes")
        if hashlib.sha256(data).hexdigest() != digest:
            raise RecordError(f"{path}: the blob's content does not have the hash that its name says")
        return data

    @staticmethod
    def _path(root: Path, digest: str) -> Path:
        return root / digest[:2] / f"{digest[2:]}.zst"

    @staticmethod
    def _write(path: Path, fill: Callable[[BinaryIO], object]) -> None:
        """Never leaves a torn blob under its final name."""
        handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=".new-")
        try:
            with os.fdopen(handle, "wb") as file:
                fill(file)
                file.flush()
                os.fdatasync(file.fileno())
            os.replace(temporary, path)
            sync_directory(path.parent)
        except BaseException:
            Path(temporary).unlink(missing_ok=True)
            raise
