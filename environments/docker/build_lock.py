"""Lock files that let one process of a user at a time make an image. The last holder removes the file."""

from __future__ import annotations

import fcntl
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from trajectories.interrupts import current_stop
from trajectories.waiting import sleep

_AGAIN_S = 0.1


@contextmanager
def one_at_a_time(name: str) -> Iterator[None]:
    """Hold the lock of this name, and wait for it while another process of this user holds it."""
    path = Path(tempfile.gettempdir()) / f"retrace-{os.geteuid()}-{name[:24]}.lock"
    while True:
        descriptor = os.open(path, os.O_CREAT | os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        try:
            _lock(descriptor)
            if not _is_at(descriptor, path):
                continue  # removed while we waited: later processes lock another file
            try:
                yield
            finally:
                path.unlink(missing_ok=True)
            return
        finally:
            os.close(descriptor)


def _lock(descriptor: int) -> None:
    """Take a lock, and wait for it; an interrupt ends the wait in a thread, too."""
    while current_stop() is not None:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return
        except BlockingIOError:
            sleep(_AGAIN_S)
    fcntl.flock(descriptor, fcntl.LOCK_EX)


def unheld(path: Path, *, remove: bool) -> bool:
    """Return whether no process holds this lock file. With `remove`, remove the file if so.

    Raises: OSError.
    """
    descriptor = os.open(path, os.O_RDWR | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if remove and _is_at(descriptor, path):
            path.unlink(missing_ok=True)
        return True
    except BlockingIOError:
        return False
    finally:
        os.close(descriptor)


def _is_at(descriptor: int, path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(descriptor), path.lstat())
    except FileNotFoundError:
        return False
