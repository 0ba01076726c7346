"""Deletes stored contents that no trial refers to, and temporary files of writers that were killed.

Only files that look like the store's own are deleted, and no link is followed. This is safe while a trial runs, because
a blob gets its name in the trial before its name in the pool (`BlobStore.publish`).
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Iterator
from itertools import chain
from pathlib import Path

from pydantic import BaseModel

from trajectories.blobs.store import TEMPORARY
from trajectories.record.layout import POOL, TrialFolder

_ABANDONED_S = 3600.0
"""Seconds without a write after which a temporary file counts as abandoned."""
_FOLDER = re.compile("[0-9a-f]{2}")
_BLOB = re.compile(r"[0-9a-f]{62}\.zst")


class Collected(BaseModel):
    """Counts of files that were deleted, or that would be deleted without `dry_run`."""

    runs: str
    dry_run: bool
    blobs: int = 0
    temporaries: int = 0
    bytes: int = 0
    """Space on the disk that the files take."""


def collect_garbage(runs: Path, *, dry_run: bool = False) -> Collected:
    """Delete what is not needed below `runs`. A file that cannot be deleted stays.

    Raises: OSError if `runs` cannot be read.
    """
    collected = Collected(runs=str(runs), dry_run=dry_run)
    now = time.time()
    for batch in _folders(runs):
        for entry in _files(Path(batch.path) / POOL):
            stat = entry.stat(follow_symlinks=False)
            if _BLOB.fullmatch(entry.name) and stat.st_nlink == 1:
                collected.blobs += _removed(entry, stat, collected)
        for trial in _folders(Path(batch.path)):
            folder = Path(trial.path)  # a record that was being packed is beside the blobs
            for entry in chain(_files(folder), () if trial.name == POOL else _files(TrialFolder(folder).blobs)):
                stat = entry.stat(follow_symlinks=False)
                if entry.name.startswith(TEMPORARY) and now - stat.st_mtime > _ABANDONED_S:
                    collected.temporaries += _removed(entry, stat, collected)
    return collected


def _removed(entry: os.DirEntry[str], stat: os.stat_result, collected: Collected) -> bool:
    if not collected.dry_run:
        try:
            os.unlink(entry.path)
        except OSError:
            return False
    collected.bytes += stat.st_blocks * 512
    return True


def _folders(parent: Path) -> Iterator[os.DirEntry[str]]:
    with os.scandir(parent) as inside:
        yield from (entry for entry in inside if entry.is_dir(follow_symlinks=False))


def _files(store: Path) -> Iterator[os.DirEntry[str]]:
    """Yield the files in a store and in its folders."""
    if store.is_symlink() or not store.is_dir():
        return
    with os.scandir(store) as inside:
        for entry in inside:
            if entry.is_file(follow_symlinks=False):
                yield entry
            elif entry.is_dir(follow_symlinks=False) and _FOLDER.fullmatch(entry.name):
                with os.scandir(entry.path) as below:
                    yield from (file for file in below if file.is_file(follow_symlinks=False))
