"""Removes what no trial needs any more: blobs of a batch's pool that no trial links, and dead writers' temporaries.

Only files that look like the store's own, found without following a link, are ever removed. Safe beside a running
trial: a blob gets its trial's name before the pool's (`BlobStore.publish`).
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Iterator
from pathlib import Path

from pydantic import BaseModel

from trajectories.blobs.store import TEMPORARY
from trajectories.record.layout import POOL, TrialFolder

_ABANDONED_S = 3600.0
"""A temporary file that nobody has written to for so long has no writer."""
_FOLDER = re.compile("[0-9a-f]{2}")
_BLOB = re.compile(r"[0-9a-f]{62}\.zst")


class Collected(BaseModel):
    """What was removed, or would be; `bytes` on disk."""

    runs: str
    dry_run: bool
    blobs: int = 0
    temporaries: int = 0
    bytes: int = 0


def collect_garbage(runs: Path, *, dry_run: bool = False) -> Collected:
    """Remove it below `runs`; what cannot be removed stays.

    Raises: OSError if `runs` cannot be read.
    """
    done = Collected(runs=str(runs), dry_run=dry_run)
    now = time.time()
    for batch in _folders(runs):
        for entry in _files(Path(batch.path) / POOL):
            stat = entry.stat(follow_symlinks=False)
            if _BLOB.fullmatch(entry.name) and stat.st_nlink == 1:
                done.blobs += _removed(entry, stat, done)
        for trial in _folders(Path(batch.path)):
            place = Path(trial.path) if trial.name == POOL else TrialFolder(Path(trial.path)).blobs
            for entry in _files(place):
                stat = entry.stat(follow_symlinks=False)
                if entry.name.startswith(TEMPORARY) and now - stat.st_mtime > _ABANDONED_S:
                    done.temporaries += _removed(entry, stat, done)
    return done


def _removed(entry: os.DirEntry[str], stat: os.stat_result, done: Collected) -> bool:
    if not done.dry_run:
        try:
            os.unlink(entry.path)
        except OSError:
            return False
    done.bytes += stat.st_blocks * 512
    return True


def _folders(parent: Path) -> Iterator[os.DirEntry[str]]:
    with os.scandir(parent) as inside:
        yield from (entry for entry in inside if entry.is_dir(follow_symlinks=False))


def _files(store: Path) -> Iterator[os.DirEntry[str]]:
    """Files of a store: in it, and in its folders."""
    if store.is_symlink() or not store.is_dir():
        return
    with os.scandir(store) as inside:
        for entry in inside:
            if entry.is_file(follow_symlinks=False):
                yield entry
            elif entry.is_dir(follow_symlinks=False) and _FOLDER.fullmatch(entry.name):
                with os.scandir(entry.path) as below:
                    yield from (file for file in below if file.is_file(follow_symlinks=False))
