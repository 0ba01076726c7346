"""Measures of an action: processor time, duration, memory."""

from __future__ import annotations

from environments.conformance.checking import check, holds
from environments.conformance.place import Place
from environments.promises import Promise


@check(Promise.CPU_TIME, "WallIsCpu")
def check_processor_time(place: Place) -> None:
    """An action's processor time counts only its own work, and sleeping takes none."""
    busy = place.run("i=0; while ((i < 300000)); do ((i += 1)); done")
    idle = place.run("sleep 0.3")
    holds(busy.cpu_s is not None and busy.cpu_s > 0.1, "a loop takes some", busy.cpu_s)
    holds(idle.cpu_s is not None and idle.cpu_s < 0.1, "sleeping takes none", idle.cpu_s)


@check(Promise.CPU_TIME, "NoMeasures")
def check_children_count(place: Place) -> None:
    """An action's processor time includes its children."""
    action = place.run("bash -c 'i=0; while ((i < 300000)); do ((i += 1)); done'")
    holds(action.cpu_s is not None and action.cpu_s > 0.1, "a child's loop takes some", action.cpu_s)


@check(Promise.EXIT_STATUS, "NoMeasures")
def check_duration(place: Place) -> None:
    """An action's duration is the time that it ran."""
    action = place.run("sleep 0.3")
    holds(0.3 <= action.duration_s < 2, "0.3 s and little more", action.duration_s)


@check(Promise.PEAK_MEMORY, "NoMeasures", alone=True, memory_bytes=512 << 20)
def check_peak_memory(place: Place) -> None:
    """An action that raises the memory's high-water mark reports the new mark; a smaller one after it does not."""
    large = place.run("head -c 100000000 /dev/zero | tail | wc -c")
    holds(large.peak_memory_bytes, "it is known", large.peak_memory_bytes)
    holds(100_000_000 < (large.peak_memory_bytes or 0) <= 512 << 20, "it is 100 MB and more", large.peak_memory_bytes)
    small = place.run("true")
    holds(small.peak_memory_bytes is None, "a small action raises nothing", small.peak_memory_bytes)
