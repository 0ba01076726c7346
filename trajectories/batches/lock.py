"""The lock of a batch: at most one coordinator owns it."""

from __future__ import annotations

import fcntl
import json
import os
import socket
from collections.abc import Mapping
from pathlib import Path

from trajectories.batches.events import Holder
from trajectories.errors import BatchInUse
from trajectories.plain_files import open_plain
from trajectories.record.layout import BatchFolder
from trajectories.writing.file_lock import FileLock

_UNKNOWN = Holder(host="", pid=0)


class BatchLock(FileLock):
    """The lock of a batch, held within `with` by its coordinator.

    Raises: BatchInUse on entry if another process holds it, with its host and its id; OSError.
    """

    def __init__(self, directory: Path) -> None:
        super().__init__(BatchFolder(directory).lock)

    def owner(self) -> Mapping[str, str | int | None]:
        """See `FileLock`."""
        return {"host": socket.gethostname(), **super().owner()}

    def refusal(self, holder: bytes) -> BatchInUse:
        """See `FileLock`."""
        return BatchInUse(
            f"{self._path.parent}: {in_words(_holder(holder))} owns this batch; `agent batch status` shows how far it "
            "is; wait for it, or interrupt it and start again"
        )


def coordinator_of(directory: Path) -> Holder | None:
    """Return the process that owns a batch now; None if none does.

    Its host is empty if it has not written its name yet, or the name cannot be read.
    """
    try:
        with open_plain(BatchFolder(directory).lock) as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
            except BlockingIOError:
                return _holder(os.pread(lock.fileno(), 4096, 0))
    except OSError:  # there is none, or it is not a file
        pass
    return None


def in_words(holder: Holder) -> str:
    """Return a coordinator in words."""
    return f"the coordinator on {holder.host} (process {holder.pid})" if holder.host else "another coordinator"


def _holder(text: bytes) -> Holder:
    try:
        owner = json.loads(text)
        return Holder(host=str(owner["host"]), pid=int(owner["pid"]))
    except (ValueError, TypeError, KeyError):
        return _UNKNOWN
