"""Identity of a process on this machine.

A process id alone is not enough, because ids are used again. Together with the start time and the boot it names one
process for good.
"""

from __future__ import annotations

import functools
from pathlib import Path


@functools.cache
def boot_id() -> str:
    """Return the kernel's id of this boot, or an empty text if the kernel has none."""
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    except OSError:
        return ""


def start_time(pid: int) -> int | None:
    """Return when a process started, in clock ticks since boot (field 22 of /proc/PID/stat, see proc(5)).

    None means that the process does not run; a zombie does not.
    """
    try:
        fields = Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()
    except OSError:
        return None
    return None if fields[0] in (b"Z", b"X") else int(fields[19])
