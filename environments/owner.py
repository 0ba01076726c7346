"""Who owns a container, an image or a temporary directory: labels, or a name, that everything of ours carries.

A process id alone is not enough, ids are used again; with its start time and the boot it names one process for ever.
"""

from __future__ import annotations

import functools
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

BOOT_ID = "retrace.owner.boot_id"
PID = "retrace.owner.pid"
START = "retrace.owner.start"
TRIAL = "retrace.trial"


@dataclass(frozen=True)
class Owner:
    """A process: `start` is its start time in clock ticks since boot (field 22 of /proc/PID/stat)."""

    boot_id: str
    pid: int
    start: int

    def labels(self) -> dict[str, str]:
        """What goes on everything that this process makes."""
        return {BOOT_ID: self.boot_id, PID: str(self.pid), START: str(self.start)}

    @property
    def prefix(self) -> str:
        """What the names of its temporary directories start with."""
        return f"retrace-{self.pid}-{self.start}-"

    @property
    def alive(self) -> bool:
        """Whether that very process still runs on this machine."""
        return self.boot_id == boot_id() and start_time(self.pid) == self.start

    @classmethod
    def of(cls, labels: Mapping[str, str]) -> Owner | None:
        """The owner that labels name; None if they are not ours."""
        try:
            return cls(labels[BOOT_ID], int(labels[PID]), int(labels[START]))
        except (KeyError, ValueError):
            return None


def this_process() -> Owner:
    """The calling process, also after a fork."""
    pid = os.getpid()
    return Owner(boot_id(), pid, start_time(pid) or 0)


@functools.cache
def boot_id() -> str:
    """The kernel's id of this boot; empty where it has none."""
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    except OSError:
        return ""


def start_time(pid: int) -> int | None:
    """When a process started; None if it does not run (a zombie does not)."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()
    except OSError:
        return None
    return None if fields[0] in (b"Z", b"X") else int(fields[19])
