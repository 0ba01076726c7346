"""From the limits that a spec asks for to what a daemon, or a shell, is told; what cannot be given is noted.

Ulimits are set in the forked child of the supervisor, by bash, in front of an action: of the container as a whole
they would hold for the supervisor too, which a small `fsize` or `cpu` would end.
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
"""A limit's name in the API, the daemon's word for being able to, and what it lets us promise."""
_SHM_BYTES = 64 << 20
"""By Docker's own choice."""
_PROGRAM_BYTES = 4 << 20
"""For the scripts of actions, beside their output."""
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
"""bash's option for a limit and its unit. Not `nice` and `rttime`: bash before 5.1 knows neither."""
ULIMITS = tuple(_BASH)
"""The names that a spec's `ulimits` may have."""
_CONTAINER = ("core", "locks", "memlock", "msgqueue", "nofile", "nproc", "sigpending")
"""What may hold for the whole container, and so be more than the daemon's own default."""
_LEAST = {"nofile": 256}
"""What the supervisor needs itself."""

Number = TypeVar("Number", int, float)


@dataclass
class Given:
    """The limits of a container: `options` are for `create_host_config`."""

    options: dict[str, Any] = field(default_factory=dict)
    lost: list[str] = field(default_factory=list)
    lowered: list[Lowered] = field(default_factory=list)
    promises: list[Promise] = field(default_factory=list)
    room_bytes: int = 0
    """Of the supervisor's own tmpfs."""
    output_bytes: int = 0
    own_ulimits: Mapping[str, int] = field(default_factory=dict)
    """Of this process, given to a container where the daemon cannot give it others."""

    def at_most(self, limit: str, asked: Number, there: Number) -> Number:
        """What there is of what was asked; less is noted."""
        if asked > there:
            self.lowered.append(Lowered(limit=limit, asked=str(asked), given=str(there)))
        return min(asked, there)


def of_container(spec: EnvironmentSpec, host: Mapping[str, Any]) -> Given:
    """The limits that a daemon can give, by its own account (`docker info`)."""
    given = Given()
    options = given.options
    if spec.cpus is not None:
        options["nano_cpus"] = round(given.at_most("cpus", spec.cpus, host["NCPU"]) * 1e9)
    if spec.memory_bytes is not None:
        options["mem_limit"] = given.at_most("memory_bytes", spec.memory_bytes, host["MemTotal"])
    if spec.pids is not None:
        options["pids_limit"] = spec.pids
    for limit, (feature, promise) in _DAEMON.items():
        if limit in options and host.get(feature) is False:
            given.lost.append(f"the daemon's kernel has no {feature}: {limit} is not enforced")
            del options[limit]
        elif limit in options:
            given.promises.append(promise)
    given.room_bytes = 2 * spec.output_bytes + _PROGRAM_BYTES
    given.output_bytes = spec.output_bytes
    if "mem_limit" in options:  # the output is kept in memory until it is fetched, and counts
        given.room_bytes = max(min(given.room_bytes, options["mem_limit"] // 4), 2 * _PROGRAM_BYTES)
        given.output_bytes = given.at_most("output_bytes", spec.output_bytes, given.room_bytes - _PROGRAM_BYTES)
        if host.get("SwapLimit") is False:
            given.lost.append("the daemon's kernel has no SwapLimit: what does not fit into memory_bytes is swapped")
        else:
            options["memswap_limit"] = options["mem_limit"]
    if spec.shm_bytes is not None:
        options["shm_size"] = spec.shm_bytes
    if "mem_limit" in options:
        # Files there stay when their writer is killed: were they all of the memory, only the supervisor would be left
        # to kill. With its own tmpfs, a quarter is for processes.
        half = options["mem_limit"] // 2
        options["shm_size"] = given.at_most("shm_bytes", spec.shm_bytes or min(_SHM_BYTES, half), half)
    given.promises.append(Promise.SHM_LIMIT)
    if spec.disk_bytes is not None:
        options["storage_opt"] = {"size": str(spec.disk_bytes)}
    ulimits = {name: max(value, _LEAST.get(name, 0)) for name, value in spec.ulimits.items() if name in _CONTAINER}
    if ulimits:
        options["ulimits"] = _ulimits(ulimits)
    return given


def without_refused(given: Given, why: str, driver: str) -> bool:
    """Take out the limit for which the daemon refused a container, and note it; whether there was one."""
    said = why.lower()
    if "storage_opt" in given.options and ("storage" in said or "quota" in said):
        del given.options["storage_opt"]
        given.lost.append(f"disk_bytes: the daemon's storage driver ({driver}) cannot limit it here")
        return True
    if "rlimit" in said and not given.own_ulimits:
        # Podman raises limits beyond its own, which only root with all capabilities can. Those of our process will do;
        # of what was asked for, the supervisor says what does not hold.
        most = int(Path("/proc/sys/kernel/pid_max").read_text())
        nofile, nproc = (resource.getrlimit(which)[1] for which in (resource.RLIMIT_NOFILE, resource.RLIMIT_NPROC))
        given.own_ulimits = {"nofile": nofile, "nproc": most if nproc < 0 else min(nproc, most)}
        given.options["ulimits"] = _ulimits(given.own_ulimits)
        return True
    return False


def _ulimits(values: Mapping[str, int]) -> list[Any]:
    from docker.types import Ulimit

    return [Ulimit(name=name, soft=value, hard=value) for name, value in values.items()]


def for_bash(ulimits: Mapping[str, int]) -> tuple[str, list[str]]:
    """The words of the supervisor's setting `ulimits` (`NAME OPTION VALUE ...`), and what bash cannot limit."""
    words = [f"{name} -{_BASH[name][0]} {value // _BASH[name][1]}" for name, value in ulimits.items() if name in _BASH]
    lost = [
        f"ulimit {name}: no shell can set it; known are {', '.join(_BASH)}" for name in ulimits if name not in _BASH
    ]
    return " ".join(words), lost
