"""The lock of a trial: at most one process writes its record.

The lock is a flock, so it ends with its process whatever happens. The text of the file only names the holder.
"""

from __future__ import annotations

import fcntl
import json
import os
import time
from pathlib import Path
from types import TracebackType
from typing import Self

from trajectories.errors import TrialInUse
from trajectories.plain_files import require_plain
from trajectories.processes import boot_id, start_time
from trajectories.record.layout import TrialFolder

_TRIES = 5


class TrialLock:
    """The lock of a trial, held within `with`.

    Raises: TrialInUse on entry if another process holds it.
    """

    def __init__(self, directory: Path) -> None:
        self._path = TrialFolder(directory).lock

    def __enter__(self) -> Self:
        if self._path.exists():
            require_plain(self._path.stat().st_mode, self._path)
        self._fd = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NONBLOCK, 0o644)
        if not self._take():
            holder = _holder(os.pread(self._fd, 4096, 0))
            os.close(self._fd)
            raise TrialInUse(f"{self._path.parent}: {holder} is at work on this trial; wait for it or end it")
        owner = {"boot_id": boot_id(), "pid": os.getpid(), "start_ticks": start_time(os.getpid())}
        os.ftruncate(self._fd, 0)
        os.pwrite(self._fd, json.dumps(owner).encode() + b"\n", 0)
        return self

    def _take(self) -> bool:
        """Try for a moment: a process that only checks if the trial is running holds the lock that long."""
        for _ in range(_TRIES):
            try:
                fcntl.flock(self._fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                time.sleep(0.02)
            else:
                return True
        return False

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        os.close(self._fd)


def _holder(text: bytes) -> str:
    try:
        return f"process {int(json.loads(text)['pid'])}"
    except (ValueError, TypeError, KeyError):
        return "another process"
