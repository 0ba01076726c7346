"""Bounds on what the snapshot of one step reads, so that no step waits for terabytes, and the batches it reads in.

A batch is one request to the environment. It is small, so that an interrupt or a bound ends the reading soon, and the
environment stays usable.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass, field

SNAPSHOT_S = 60.0
"""Seconds for the contents of one snapshot."""
SNAPSHOT_BYTES = 4 << 30
"""Bytes of the contents of one snapshot, with the holes of sparse files: these take as long to hash as data."""
HASH_S = 5.0
"""Seconds for the hash of one file whose content is not kept."""
_BATCH_BYTES = 16 << 20
_BATCH_PATHS = 2000


@dataclass
class Budget:
    """Time and bytes that are left for the contents of one snapshot."""

    seconds: float = SNAPSHOT_S
    bytes: int = SNAPSHOT_BYTES
    reason: str = ""
    """Bound that left something out; empty if none did."""
    _began: float = field(default_factory=time.monotonic)

    def allows(self, size: int) -> bool:
        """Take this many bytes from the budget; return False, and note the bound, if they or the time are over."""
        if time.monotonic() - self._began > self.seconds:
            self.reason = f"a snapshot reads for at most {self.seconds:g} s"
        elif size > self.bytes:
            self.reason = self.reason or f"a snapshot reads at most {SNAPSHOT_BYTES >> 30} GiB"
        else:
            self.bytes -= size
            return True
        return False

    @property
    def seconds_left(self) -> float:
        """Seconds until the bound in time, at least 0."""
        return max(0.0, self._began + self.seconds - time.monotonic())


def batches(sizes: dict[str, int]) -> Iterator[dict[str, int]]:
    """Yield the paths with their sizes in batches, small files first: sources are worth more than large outputs."""
    batch: dict[str, int] = {}
    total = 0
    for path, size in sorted(sizes.items(), key=lambda item: (item[1], item[0])):
        if batch and (total + size > _BATCH_BYTES or len(batch) >= _BATCH_PATHS):
            yield batch
            batch, total = {}, 0
        batch[path] = size
        total += size
    if batch:
        yield batch
