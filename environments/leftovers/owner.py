"""The owner of a container or a temporary directory: a process, named by labels or by a directory's name.

A process id alone is not enough: ids are used again, and every pid namespace has its own. Together with its namespace,
its start time and the boot, an id names one process forever.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from enum import Enum
from pathlib import Path

from trajectories.processes import boot_id, start_time

BOOT_ID = "retrace.owner.boot_id"
PID_NS = "retrace.owner.pid_ns"
PID = "retrace.owner.pid"
START = "retrace.owner.start"
TRIAL = "retrace.trial"
KEEP = "retrace.keep"
"""Label of a container that its user wants to inspect later."""

_DIRECTORY = re.compile(r"retrace-(\d{1,10})-(\d{1,20})-(?:(\d{1,20})-)?.+")


class State(Enum):
    """State of an owner. DEAD is final, so that what was judged dead may be removed later."""

    ALIVE = "alive"
    DEAD = "dead"
    UNKNOWN = "unknown"


@dataclass(frozen=True)
class Owner:
    """A process."""

    boot_id: str
    pid: int
    start: int
    """Start time in clock ticks since boot (field 22 of /proc/PID/stat)."""
    pid_ns: int | None = None
    """Inode of its pid namespace; None if that was not noted or cannot be seen."""

    def labels(self) -> dict[str, str]:
        """Return the labels for every container and image that this process makes."""
        namespace = {} if self.pid_ns is None else {PID_NS: str(self.pid_ns)}
        return {BOOT_ID: self.boot_id, **namespace, PID: str(self.pid), START: str(self.start)}

    @property
    def prefix(self) -> str:
        """Prefix of the names of its temporary directories. It lacks the boot, at which most of them are emptied."""
        return f"retrace-{self.pid}-{self.start}-" + ("" if self.pid_ns is None else f"{self.pid_ns}-")

    @property
    def alive(self) -> bool:
        """True if that very process is known to run on this machine."""
        return self.judged()[0] is State.ALIVE

    def judged(self) -> tuple[State, str]:
        """Return the state of that very process; if it is unknown, also the reason and what to do about it."""
        if not self.boot_id or self.boot_id != boot_id():
            return State.UNKNOWN, "made by another machine, or before this one was started again; remove it there"
        here = self.pid_ns is not None and self.pid_ns == pid_namespace()
        if (here or self.pid_ns is None) and start_time(self.pid) == self.start:
            return State.ALIVE, ""
        if not here:
            where = "another process namespace (a container?)" if self.pid_ns else "a process namespace not noted"
            return State.UNKNOWN, f"its owner is process {self.pid} of {where}; run agent clean there, or remove it"
        if _hidden(self.pid):
            return State.UNKNOWN, f"its owner may be process {self.pid}, which /proc hides; run agent clean as its user"
        return State.DEAD, ""

    @classmethod
    def of(cls, labels: Mapping[str, str]) -> Owner | None:
        """Return the owner that labels name, or None if they are not ours."""
        try:
            pid_ns = int(labels[PID_NS]) if PID_NS in labels else None
            return cls(labels[BOOT_ID], int(labels[PID]), int(labels[START]), pid_ns)
        except (KeyError, ValueError):
            return None

    @classmethod
    def of_directory(cls, name: str) -> Owner | None:
        """Return the owner that a temporary directory's name gives, or None if the directory is not ours.

        The owner is taken to be of this boot. A directory of an earlier boot therefore stays if a process of today has
        the same id and start time; a live owner's directory is never taken for a dead one's.
        """
        match = _DIRECTORY.fullmatch(name)
        return match and cls(boot_id(), int(match[1]), int(match[2]), int(match[3]) if match[3] else None)


def this_process() -> Owner:
    """Return the calling process, also after a fork."""
    pid = os.getpid()
    return Owner(boot_id(), pid, start_time(pid) or 0, pid_namespace())


def boot_time() -> float:
    """Return the time of this boot in seconds since 1970; 0 if it is unknown."""
    with suppress(OSError):
        for line in Path("/proc/stat").read_text().splitlines():
            if line.startswith("btime "):
                return float(line.split()[1])
    return 0.0


def pid_namespace() -> int | None:
    """Return the inode of this process's pid namespace, or None if it cannot be seen."""
    try:
        return os.stat("/proc/self/ns/pid").st_ino
    except OSError:
        return None


def _hidden(pid: int) -> bool:
    """Return whether there is such a process although /proc does not show it (hidepid=2)."""
    try:
        os.kill(pid, 0)
    except PermissionError:
        return not os.path.exists(f"/proc/{pid}")
    except (ProcessLookupError, OverflowError):
        pass
    return False
