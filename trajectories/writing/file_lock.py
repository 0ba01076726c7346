"""Lock files: at most one process does something, for example writes a record.

The lock is a flock, so it ends with its process whatever happens. The text of the file only names the holder.
"""

from __future__ import annotations

import fcntl
import json
import os
import time
from abc import ABC, abstractmethod
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Self

from trajectories.errors import RecordError
from trajectories.plain_files import require_plain
from trajectories.processes import boot_id, start_time

_TRIES = 5


class FileLock(ABC):
    """A lock file, held within `with`.

    Raises: what `refusal` returns, on entry, if another process holds it; OSError.
    """

    def __init__(self, path: Path) -> None:
        self._path = path

    @abstractmethod
    def refusal(self, holder: bytes) -> RecordError:
        """Return the error for a lock that another process holds, from the text that the holder wrote."""

    def owner(self) -> Mapping[str, str | int | None]:
        """Return the name of this process for the text of the file."""
        return {"boot_id": boot_id(), "pid": os.getpid(), "start_ticks": start_time(os.getpid())}

    def __enter__(self) -> Self:
        if self._path.exists():
            require_plain(self._path.stat().st_mode, self._path)
        self._fd = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NONBLOCK, 0o644)
        if not self._take():
            holder = os.pread(self._fd, 4096, 0)
            os.close(self._fd)
            raise self.refusal(holder)
        os.ftruncate(self._fd, 0)
        os.pwrite(self._fd, json.dumps(self.owner()).encode() + b"\n", 0)
        return self

    def _take(self) -> bool:
        """Try for a moment: a process that only checks if the lock is held holds it that long."""
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
