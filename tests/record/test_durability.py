"""A content is on disk before it has its name, and its name is on disk before anything refers to it.

No test can take the power away, so the order of the calls to the kernel is observed.
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from trajectories.blobs.batch import BlobBatch
from trajectories.blobs.store import BlobStore

CONTENT = bytes(range(256)) * 9


class Calls:
    """The calls to the kernel that matter, in order; each is made as well."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.synced: list[tuple[int, int]] = []
        """(number of the call, inode) of each sync; 0 for a whole file system."""
        self.named: list[tuple[int, int, str]] = []
        """(number of the call, inode, path) of each name that a file got."""
        self._count = 0
        for name in ("fdatasync", "fsync"):
            monkeypatch.setattr(os, name, self._observed_sync(getattr(os, name)))
        for name in ("link", "replace"):
            monkeypatch.setattr(os, name, self._observed_name(getattr(os, name)))
        library = ctypes.CDLL(None, use_errno=True)
        library.syncfs = self._observed_sync_of_all(library.syncfs)
        monkeypatch.setattr(ctypes, "CDLL", lambda *args, **options: library)

    def _number(self) -> int:
        self._count += 1
        return self._count

    def _observed_sync(self, make: Callable[[int], None]) -> Callable[[int], None]:
        def sync(descriptor: int) -> None:
            make(descriptor)
            self.synced.append((self._number(), os.fstat(descriptor).st_ino))

        return sync

    def _observed_sync_of_all(self, make: Callable[[int], int]) -> Callable[[int], int]:
        def syncfs(descriptor: int) -> int:
            status = make(descriptor)
            self.synced.append((self._number(), 0))
            return status

        return syncfs

    def _observed_name(self, make: Callable[[str, str], None]) -> Callable[[str, str], None]:
        def name(source: str, path: str) -> None:
            make(source, path)
            self.named.append((self._number(), os.stat(path).st_ino, os.fspath(path)))

        return name

    def check(self, blob: Path) -> None:
        inode, directory = blob.stat().st_ino, blob.parent.stat().st_ino
        first = min(number for number, named, _ in self.named if named == inode)
        assert any(number < first for number, synced in self.synced if synced in (0, inode)), "content before name"
        last = max(number for number, named, path in self.named if named == inode and path == str(blob))
        assert any(number > last for number, synced in self.synced if synced in (0, directory)), "then the name"


@pytest.mark.parametrize("pooled", [False, True], ids=["alone", "pooled"])
@pytest.mark.parametrize("pieces", [1, 3])
def test_a_blob_is_synced_before_it_has_its_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, pieces: int, pooled: bool
) -> None:
    store = BlobStore(tmp_path / "t" / "blobs", tmp_path / ".pool" if pooled else None)
    calls = Calls(monkeypatch)
    digest = store.put(CONTENT) if pieces == 1 else store.put_pieces([CONTENT] * pieces)
    calls.check(store.path(digest))


@pytest.mark.parametrize("pooled", [False, True], ids=["alone", "pooled"])
@pytest.mark.parametrize("count", [1, 5, 40])
def test_a_batch_of_blobs_is_synced_before_any_has_its_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, count: int, pooled: bool
) -> None:
    store = BlobStore(tmp_path / "t" / "blobs", tmp_path / ".pool" if pooled else None)
    calls = Calls(monkeypatch)
    with BlobBatch(store) as batch:
        stored = [batch.put([CONTENT, str(number).encode()], 1 << 20) for number in range(count)]
        stored.append(batch.put([CONTENT] * 600, 2 << 20))  # longer than what is hashed before it is written
        batch.commit()
    for content in stored:
        calls.check(store.path(content.sha256))


def test_a_blob_that_the_pool_has_gets_its_name_synced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    digest = BlobStore(tmp_path / "a", tmp_path / ".pool").put(CONTENT)
    calls = Calls(monkeypatch)
    store = BlobStore(tmp_path / "b", tmp_path / ".pool")
    assert store.put(CONTENT) == digest
    assert store.path(digest).parent.stat().st_ino in [inode for _, inode in calls.synced]
