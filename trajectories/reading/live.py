"""The state of a trial's lock, for readers that must know if the record still grows."""

from __future__ import annotations

import fcntl
from pathlib import Path

from trajectories.plain_files import open_plain
from trajectories.record.layout import TrialFolder


def is_live(directory: Path) -> bool:
    """Return True if a process holds the lock of a trial, and so may write its record."""
    try:
        with open_plain(TrialFolder(directory).lock) as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
            except BlockingIOError:
                return True
    except OSError:  # there is none, or it is not a file
        pass
    return False
