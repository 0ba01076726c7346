"""The memory of a process and all its descendants."""

from __future__ import annotations

from collections import defaultdict
from contextlib import suppress
from pathlib import Path


def descendants(pid: int) -> list[int]:
    """Return the ids of a process and of all below it."""
    children: dict[int, list[int]] = defaultdict(list)
    for path in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            parent = int((path / "stat").read_text().rpartition(")")[2].split()[1])
            children[parent].append(int(path.name))
    pids, at = [pid], 0
    while at < len(pids):
        pids += children[pids[at]]
        at += 1
    return pids


def pss_mb(pid: int) -> float:
    """Return the proportional set size of a process and all below it: shared pages count once, in parts."""
    total_kb = 0
    for process in descendants(pid):
        with suppress(OSError):
            for line in Path(f"/proc/{process}/smaps_rollup").read_text().splitlines():
                if line.startswith("Pss:"):
                    total_kb += int(line.split()[1])
    return total_kb / 1024
