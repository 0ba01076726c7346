"""Who owns a container or a temporary directory, by the labels or the name it carries, and whether that one lives.

A process id alone is not enough: ids are used again, and every pid namespace has its own. With its namespace, its
start time and the boot it names one process for ever.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum

from trajectories.processes import boot_id, start_time

BOOT_ID = "retrace.owner.boot_id"
PID_NS = "retrace.owner.pid_ns"
PID = "retrace.owner.pid"
START = "retrace.owner.start"
TRIAL = "retrace.trial"
KEEP = "retrace.keep"
"""On a container that its user wants to look at later."""

_DIRECTORY = re.compile(r"retrace-(\d{1,10})-(\d{1,20})-(?:(\d{1,20})-)?.+")


class State(Enum):
    """Of an owner. DEAD is for ever, so that what was judged dead may be removed later."""

    ALIVE = "alive"
    DEAD = "dead"
    UNKNOWN = "unknown"


@dataclass(frozen=True)
class Owner:
    """A process: `start` is its start time in clock ticks since boot (field 22 of /proc/PID/stat)."""

    boot_id: str
    pid: int
    start: int
    pid_ns: int | None = None
    """Inode of its pid namespace; None where that was not noted or cannot be seen."""

    def labels(self) -> dict[str, str]:
        """What goes on everything that this process makes."""
        named = {} if self.pid_ns is None else {PID_NS: str(self.pid_ns)}
        return {BOOT_ID: self.boot_id, **named, PID: str(self.pid), START: str(self.start)}

    @property
    def prefix(self) -> str:
        """What the names of its temporary directories start with. Without the boot: most are emptied by it."""
        return f"retrace-{self.pid}-{self.start}-" + ("" if self.pid_ns is None else f"{self.pid_ns}-")

    @property
    def alive(self) -> bool:
        """Whether that very process is known to run on this machine."""
        return self.judged()[0] is State.ALIVE

    def judged(self) -> tuple[State, str]:
        """Whether that very process still runs, and if that cannot be told, why and what to do."""
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
        """The owner that labels name; None if they are not ours."""
        try:
            space = int(labels[PID_NS]) if PID_NS in labels else None
            return cls(labels[BOOT_ID], int(labels[PID]), int(labels[START]), space)
        except (KeyError, ValueError):
            return None

    @classmethod
    def of_directory(cls, name: str) -> Owner | None:
        """The owner that a temporary directory's name tells, taken as of this boot; None if it is not ours.

        Of an earlier boot, a process that has its id and its start time today keeps the directory: never the reverse.
        """
        found = _DIRECTORY.fullmatch(name)
        return found and cls(boot_id(), int(found[1]), int(found[2]), int(found[3]) if found[3] else None)


def this_process() -> Owner:
    """The calling process, also after a fork."""
    pid = os.getpid()
    return Owner(boot_id(), pid, start_time(pid) or 0, pid_namespace())


def pid_namespace() -> int | None:
    """The inode of this process's pid namespace; None where it cannot be seen."""
    try:
        return os.stat("/proc/self/ns/pid").st_ino
    except OSError:
        return None


def _hidden(pid: int) -> bool:
    """Whether there is such a process and /proc does not show it (hidepid=2)."""
    try:
        os.kill(pid, 0)
    except PermissionError:
        return not os.path.exists(f"/proc/{pid}")
    except (ProcessLookupError, OverflowError):
        pass
    return False
