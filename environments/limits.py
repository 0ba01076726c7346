"""The limits of a spec, as settings for a daemon or a shell. Limits that cannot be enforced are noted.

Ulimits are set by bash in the forked child of the supervisor, before the action. Set for the container as a whole, they
would also hold for the supervisor, which a small `fsize` or `cpu` would end.
"""

from __future__ import annotations

import resource
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from environments.promises import Promise
from environments.protocol import EnvironmentSpec
from trajectories.record.events import Lowered

_DAEMON = {
    "nano_cpus": ("CpuCfsQuota", Promise.CPU_LIMIT),
    "mem_limit": ("MemoryLimit", Promise.MEMORY_LIMIT),
    "pids_limit": ("PidsLimit", Promise.PIDS_LIMIT),
}
"""Name of a limit in the API: the daemon's name for the ability to enforce it, and the promise that depends on it."""
_SHM_BYTES = 64 << 20
"""Docker's default size of /dev/shm."""
_PROGRAM_BYTES = 4 << 20
"""Room for the scripts of actions, in addition to their output."""
_BASH = {
    "as": ("v", 1024),
    "core": ("c", 1024),
    "cpu": ("t", 1),
    "data": ("d", 1024),
    "fsize": ("f", 1024),
    "locks": ("x", 1),
    "memlock": ("l", 1024),
    "msgqueue": ("q", 1),
    "nofile": ("n", 1),
    "nproc": ("u", 1),
    "rtprio": ("r", 1),
    "sigpending": ("i", 1),
    "stack": ("s", 1024),
}
"""bash's option for each limit and its unit. `nice` and `rttime` are missing: bash before 5.1 knows neither."""
ULIMITS = tuple(_BASH)
"""The names that a spec's `ulimits` may have."""
_CONTAINER = ("core", "locks", "memlock", "msgqueue", "nofile", "nproc", "sigpending")
"""Limits that may hold for the whole container, and so exceed the daemon's own default."""
_LEAST = {"nofile": 256}
"""Limits that the supervisor itself needs at least."""

Number = TypeVar("Number", int, float)


@dataclass
class ContainerLimits:
    """The limits of a container."""

    options: dict[str, Any] = field(default_factory=dict)
    """Arguments of `create_host_config`."""
    lost: list[str] = field(default_factory=list)
    lowered: list[Lowered] = field(default_factory=list)
    promises: list[Promise] = field(default_factory=list)
    room_bytes: int = 0
    """Size of the supervisor's own tmpfs."""
    output_bytes: int = 0
    own_ulimits: Mapping[str, int] = field(default_factory=dict)
    """Limits of this process, given to a container if the daemon cannot set others."""

    def at_most(self, limit: str, requested: Number, available: Number) -> Number:
        """Return the requested amount, or the available one if that is less; that is noted."""
        if requested > available:
            self.lowered.append(Lowered(limit=limit, asked=str(requested), given=str(available)))
        return min(requested, available)


def of_container(spec: EnvironmentSpec, host: Mapping[str, Any]) -> ContainerLimits:
    """Return the limits that a daemon can enforce according to `docker info`, which is `host`."""
    limits = ContainerLimits()
    options = limits.options
    if spec.cpus is not None:
        options["nano_cpus"] = round(limits.at_most("cpus", spec.cpus, host["NCPU"]) * 1e9)
    if spec.memory_bytes is not None:
        options["mem_limit"] = limits.at_most("memory_bytes", spec.memory_bytes, host["MemTotal"])
    if spec.pids is not None:
        options["pids_limit"] = spec.pids
    for limit, (feature, promise) in _DAEMON.items():
        if limit in options and host.get(feature) is False:
            limits.lost.append(f"the daemon's kernel has no {feature}: {limit} is not enforced")
            del options[limit]
        elif limit in options:
            limits.promises.append(promise)
    limits.room_bytes = 2 * spec.output_bytes + _PROGRAM_BYTES
    limits.output_bytes = spec.output_bytes
    if "mem_limit" in options:  # the output is kept in memory until it is fetched, and counts
        limits.room_bytes = max(min(limits.room_bytes, options["mem_limit"] // 4), 2 * _PROGRAM_BYTES)
        limits.output_bytes = limits.at_most("output_bytes", spec.output_bytes, limits.room_bytes - _PROGRAM_BYTES)
        if host.get("SwapLimit") is False:
            limits.lost.append("the daemon's kernel has no SwapLimit: what does not fit into memory_bytes is swapped")
        else:
            options["memswap_limit"] = options["mem_limit"]
    if spec.shm_bytes is not None:
        options["shm_size"] = spec.shm_bytes
    if "mem_limit" in options:
        # Files in /dev/shm stay when their writer is killed. If they took all of the memory, only the supervisor would
        # be left to kill. Together with the supervisor's own tmpfs, this leaves a quarter for processes.
        half = options["mem_limit"] // 2
        options["shm_size"] = limits.at_most("shm_bytes", spec.shm_bytes or min(_SHM_BYTES, half), half)
    limits.promises.append(Promise.SHM_LIMIT)
    if spec.disk_bytes is not None:
        options["storage_opt"] = {"size": str(spec.disk_bytes)}
    ulimits = {name: max(value, _LEAST.get(name, 0)) for name, value in spec.ulimits.items() if name in _CONTAINER}
    if ulimits:
        options["ulimits"] = _ulimits(ulimits)
    return limits


def without_refused(limits: ContainerLimits, refusal: str, driver: str) -> bool:
    """Remove the limit for which the daemon refused a container, and note that. Return False if there is none.

    Only the daemon's words tell the limit: its HTTP status is the same for all of them.
    """
    words = refusal.lower()
    if "storage_opt" in limits.options and ("storage" in words or "quota" in words):
        del limits.options["storage_opt"]
        limits.lost.append(f"disk_bytes: the daemon's storage driver ({driver}) cannot limit it here")
        return True
    if "rlimit" in words and not limits.own_ulimits:
        # Podman raises limits above its own, which only root with all capabilities can. Those of our process will do;
        # the supervisor reports which requested limits do not hold.
        most = int(Path("/proc/sys/kernel/pid_max").read_text())
        nofile, nproc = (resource.getrlimit(which)[1] for which in (resource.RLIMIT_NOFILE, resource.RLIMIT_NPROC))
        limits.own_ulimits = {"nofile": nofile, "nproc": most if nproc < 0 else min(nproc, most)}
        limits.options["ulimits"] = _ulimits(limits.own_ulimits)
        return True
    return False


def _ulimits(values: Mapping[str, int]) -> list[Any]:
    from docker.types import Ulimit

    return [Ulimit(name=name, soft=value, hard=value) for name, value in values.items()]


def for_bash(ulimits: Mapping[str, int]) -> tuple[str, list[str]]:
    """Return the supervisor's setting `ulimits` (`NAME OPTION VALUE ...`), and lines about what bash cannot limit."""
    words = [f"{name} -{_BASH[name][0]} {value // _BASH[name][1]}" for name, value in ulimits.items() if name in _BASH]
    lost = [
        f"ulimit {name}: no shell can set it; known are {', '.join(_BASH)}" for name in ulimits if name not in _BASH
    ]
    return " ".join(words), lost
