"""A lock for tests that run `agent clean`, or leave things that it removes.

The command examines the whole machine, so such tests run one at a time.
"""

from __future__ import annotations

import fcntl
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_LOCK = Path("/tmp/retrace-tests-that-clean.lock")


@contextmanager
def alone() -> Iterator[None]:
    """Hold the lock, also against other runs of the tests on this machine."""
    with _LOCK.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
