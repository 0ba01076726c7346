"""The supervisor's answers as records: each is parsed and checked here, field by field.

`supervisor/60-start.sh`, `40-actions.sh`, `45-shell.sh` and `52-listing.sh` write them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast, get_args

from environments.protocol import SupervisorLost
from trajectories.record.events import Ended

_ALARM_SINCE = (5, 2)
"""The first version of bash whose `read -t` never misses its own alarm."""

_NOTE_AT = 9


@dataclass(frozen=True)
class Ready:
    """Facts about the place that the supervisor reports when it has started."""

    bash: str
    """Version of bash."""
    user: str
    """Name of the user that actions run as, or the number of one without a name."""
    uid: int
    gid: int
    dropped: bool
    """True if actions run as another user than the supervisor."""
    lost: tuple[str, ...]
    """The lines about what this place cannot give."""
    counts_oom: bool = False
    """True if the supervisor sees the kernel's count of processes killed for lack of memory."""
    peak: bool = False
    """True if the supervisor sees the high-water mark of memory."""

    @property
    def misses_alarms(self) -> bool:
        """True if this bash needs a byte now and then while an answer is awaited."""
        return tuple(map(int, self.bash.partition("(")[0].split(".")[:2])) < _ALARM_SINCE

    @classmethod
    def parse(cls, fields: Sequence[str], text: str) -> Ready:
        """Parse the fields of the answer and the text that follows them.

        Raises: SupervisorLost.
        """
        try:
            _, bash, user, uid, gid, dropped, counts_oom, peak, _ = fields
            lost = tuple(text.splitlines())
            return cls(bash, user, int(uid), int(gid), dropped != "0", lost, counts_oom == "1", peak == "1")
        except ValueError:
            raise _senseless(fields) from None


@dataclass(frozen=True)
class ActionEnd:
    """Facts about an action that ended. Its output follows on the stream."""

    ended: Ended
    status: int
    """Exit status as bash reports it."""
    signal: int
    """Signal that ended the shell; 0 if it exited."""
    began_us: int
    """Time at which the action began, since the epoch; 0 if the supervisor has no such clock."""
    duration_us: int
    cpu_total_s: float | None
    """Processor time of all children of the supervisor so far; None if it was not measured."""
    peak_memory_bytes: int
    """The memory's high-water mark if the action raised it, otherwise 0."""
    left_running: int
    """Number of processes that the action left running."""
    note: str
    """A word about what happened besides (`SHELL_LOST`, `made_room`), or `-`."""
    left_pids: tuple[int, ...]
    """Process ids of the first of these processes."""
    output_size: int
    """Bytes of standard output that follow."""
    output_total: int
    """Bytes that were written to it."""
    stderr_size: int
    stderr_total: int

    @classmethod
    def parse(cls, fields: Sequence[str]) -> ActionEnd:
        """Parse the fields of the answer.

        Raises: SupervisorLost.
        """
        try:
            ended, status, signal, began, duration, user_s, system_s, peak, left, note, pids, *sizes = fields
            if ended not in get_args(Ended):
                raise ValueError
            output_size, output_total, stderr_size, stderr_total = map(int, sizes)
            return cls(
                ended=cast(Ended, ended),
                status=int(status),
                signal=int(signal),
                began_us=int(began),
                duration_us=int(duration),
                cpu_total_s=cpu_total(user_s, system_s),
                peak_memory_bytes=int(peak),
                left_running=int(left),
                note=note,
                left_pids=tuple(sorted(int(pid) for pid in pids.split(",") if pid)),
                output_size=output_size,
                output_total=output_total,
                stderr_size=stderr_size,
                stderr_total=stderr_total,
            )
        except ValueError:
            raise _senseless(fields) from None

    @property
    def exited(self) -> bool:
        """True if the shell ended by itself or was killed for lack of memory, so that its status is its own."""
        return self.ended in ("exited", "oom")


@dataclass(frozen=True)
class StreamEnd:
    """Facts about a stream of bytes, complete once the stream has ended."""

    facts: tuple[str, ...]
    """Fields of the line before the stream."""
    status: int
    """Exit status of the program that wrote it."""
    complaints: str
    """The program's standard error."""


def note_of(fields: Sequence[str]) -> str:
    """Return the note in the answer to an action that was canceled, or `-` if it was canceled before it began."""
    return fields[_NOTE_AT] if len(fields) > _NOTE_AT else "-"


def cpu_total(user_s: str, system_s: str) -> float | None:
    """Return the sum of two times as bash's `times` prints them (`0m0.012s`), or None for `-`.

    Raises: ValueError.
    """
    if system_s == "-":
        return None
    total_s = 0.0
    for text in (user_s, system_s):
        minutes, _, seconds = text.rstrip("s").partition("m")
        total_s += int(minutes) * 60 + float(seconds)
    return total_s


def _senseless(fields: Sequence[str]) -> SupervisorLost:
    return SupervisorLost(f"the supervisor's answer makes no sense: {' '.join(fields)}")
