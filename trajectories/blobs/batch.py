"""Writes many blobs durably at the cost of two syncs.

Every file of a snapshot is written under a temporary name. One sync makes all contents durable, then all files get
their names, and one more sync makes the names durable. Measured: a sync for each file and directory takes 0.17 ms a
file, 0.34 s for 2,000 files; one syncfs takes 0.02 s.
"""

from __future__ import annotations

import ctypes
import hashlib
import os
import secrets
from collections.abc import Iterable
from dataclasses import dataclass
from types import TracebackType
from typing import Self

import zstandard

from trajectories.blobs.store import LEVEL, TEMPORARY, BlobStore, sync_directory

_WHOLE_BYTES = 1 << 20
"""Largest content that is hashed before it is compressed. A larger one is written as it is read."""
_FEW = 16
"""Most files that are synced one by one. syncfs also waits for what other processes have written."""


@dataclass(frozen=True, slots=True)
class Stored:
    """A content that was put into a batch."""

    sha256: str
    size: int
    """Size in bytes."""
    kept: bool
    """False if the content was larger than the limit, so that only its hash is known."""


class BlobBatch:
    """`with BlobBatch(blobs) as batch: batch.put(...)`. Contents are durable after `commit`, and gone without it."""

    def __init__(self, blobs: BlobStore) -> None:
        self._blobs = blobs
        self._written: dict[str, str] = {}
        """Temporary file by digest."""
        self._linked: set[str] = set()
        """Digests of blobs that exist already, whose names must still be synced."""
        self._compressor = zstandard.ZstdCompressor(level=LEVEL)

    def put(self, content: Iterable[bytes], cap_bytes: int) -> Stored:
        """Hash the content, and keep it unless it is larger than `cap_bytes`. At most 1 MiB and a piece is held."""
        pieces = iter(content)
        head: list[bytes] = []
        size = 0
        for piece in pieces:
            head.append(piece)
            size += len(piece)
            if size > _WHOLE_BYTES:
                return self._put_long(head, pieces, cap_bytes)
        data = b"".join(head)
        digest = hashlib.sha256(data).hexdigest()
        if size > cap_bytes:
            return Stored(digest, size, False)
        if not self.has(digest):
            self._written[digest] = temporary = self._temporary()
            with open(temporary, "xb") as file:
                file.write(self._compressor.compress(data))
        return Stored(digest, size, True)

    def has(self, digest: str) -> bool:
        """Return True if the blob exists, or will exist after `commit`."""
        if digest in self._written:
            return True
        if self._blobs.has(digest):
            self._linked.add(digest)
            return True
        return False

    def commit(self) -> None:
        """Make all contents durable.

        Raises: OSError. Blobs that already have their names stay, and are complete.
        """
        if not self._written and not self._linked:
            return
        many = len(self._written) + len(self._linked) > _FEW
        if many:
            self._sync_all()
        else:
            for temporary in self._written.values():
                _sync_file(temporary)
        for digest in list(self._written):
            self._blobs.publish(self._written[digest], digest)
            del self._written[digest]
            self._linked.add(digest)
        if many:
            self._sync_all()
        else:
            for directory in {self._blobs.path(digest).parent for digest in self._linked}:
                sync_directory(directory)
            self._blobs.sync_directories()
        self._linked.clear()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for temporary in self._written.values():
            if os.path.exists(temporary):
                os.unlink(temporary)
        self._written.clear()

    def _put_long(self, head: list[bytes], rest: Iterable[bytes], cap_bytes: int) -> Stored:
        temporary = self._temporary()
        hashed = hashlib.sha256()
        size = 0
        try:
            with open(temporary, "xb") as file:
                compressing = self._compressor.compressobj()
                for pieces in (head, rest):
                    for piece in pieces:
                        size += len(piece)
                        hashed.update(piece)
                        if size <= cap_bytes:
                            file.write(compressing.compress(piece))
                    head = []
                if size <= cap_bytes:
                    file.write(compressing.flush())
        except BaseException:
            os.unlink(temporary)
            raise
        digest = hashed.hexdigest()
        if size > cap_bytes or self.has(digest):
            os.unlink(temporary)
        else:
            self._written[digest] = temporary
        return Stored(digest, size, size <= cap_bytes)

    def _temporary(self) -> str:
        self._blobs.directory.mkdir(parents=True, exist_ok=True)
        return f"{self._blobs.directory}/{TEMPORARY}{secrets.token_hex(8)}"

    def _sync_all(self) -> None:
        """Sync everything that was written to the file system so far (syncfs(2))."""
        descriptor = os.open(self._blobs.directory, os.O_RDONLY | os.O_DIRECTORY)
        try:
            libc = ctypes.CDLL(None, use_errno=True)
            if libc.syncfs(descriptor) != 0:
                code = ctypes.get_errno()
                raise OSError(code, os.strerror(code), str(self._blobs.directory))
        finally:
            os.close(descriptor)


def _sync_file(path: str) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fdatasync(descriptor)
    finally:
        os.close(descriptor)
