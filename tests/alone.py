"""`agent clean` looks at the whole machine: tests that run it, or make things for it to find, do so one at a time."""

from __future__ import annotations

import fcntl
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_LOCK = Path("/tmp/retrace-tests-that-clean.lock")


@contextmanager
def alone() -> Iterator[None]:
    with _LOCK.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
