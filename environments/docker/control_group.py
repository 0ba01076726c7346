"""The control group of a container: the limits that really hold, as the kernel shows them.

A daemon may accept a limit and not set it (rootless Podman with cgroups of version 1 sets none). Therefore the files of
the group are read after the start: in the container, or on this side if the container hides them.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from environments.docker import daemon
from environments.promises import Promise
from environments.wire.channel import Channel

if TYPE_CHECKING:
    from docker import APIClient

ROOT = Path("/sys/fs/cgroup")
_FILES = (
    "memory.limit_in_bytes",
    "memory.memsw.limit_in_bytes",
    "memory.max",
    "memory.swap.max",
    "pids.max",
    "cpu.cfs_quota_us",
    "cpu.cfs_period_us",
    "cpu.max",
)
_READ_S, _READ_BYTES = 30.0, 1 << 16
_CONTROLLERS = ("memory", "pids", "cpu", "cpu,cpuacct", "unified")
_LIMITS = {
    Promise.MEMORY_LIMIT: "mem_limit",
    Promise.PIDS_LIMIT: "pids_limit",
    Promise.CPU_LIMIT: "nano_cpus",
}
"""Promises that depend on the group, with the daemon's option that sets the limit."""
CHECKED = frozenset(_LIMITS)


class ControlGroup:
    """The content of the files that were readable, by name, and the names of the groups."""

    def __init__(self, text: str, container: str) -> None:
        self._files: dict[str, str] = {}
        for line in text.splitlines():
            name, _, content = line.partition(" ")
            self._files.setdefault(name, content)
        self._is_named = any(container in line for line in text.splitlines() if line.startswith("group "))

    @property
    def is_readable(self) -> bool:
        """True if a limit could be read, whatever it is."""
        return any(name in self._files for name in _FILES)

    def proven(self, options: Mapping[str, Any]) -> set[Promise]:
        """Return the promises about limits that hold at least as strictly as these options of the daemon demand."""
        proven = set()
        if "mem_limit" in options and self._holds_memory(options["mem_limit"]):
            proven.add(Promise.MEMORY_LIMIT)
        if "pids_limit" in options and _at_most(self._files.get("pids.max"), options["pids_limit"]):
            proven.add(Promise.PIDS_LIMIT)
        if "nano_cpus" in options and self._holds_cpus(options["nano_cpus"] / 1e9):
            proven.add(Promise.CPU_LIMIT)
        return proven

    def is_own(self, options: Mapping[str, Any]) -> bool:
        """Return whether the group is the container's alone, so that its counts are the container's."""
        return self._is_named or bool(self.proven(options) - {Promise.CPU_LIMIT})

    def unproven(self, promises: Collection[Promise]) -> list[str]:
        """Return one line for each of these promises, which the daemon accepted and the group does not show."""
        reason = "has no such limit" if self.is_readable else "cannot be read"
        return [
            f"{promise.value}: the daemon accepted {option}, but the container's control group {reason}"
            for promise, option in _LIMITS.items()
            if promise in promises
        ]

    def _holds_memory(self, limit: int) -> bool:
        files = self._files
        if files.get("swap") == "0":
            return _at_most(files.get("memory.limit_in_bytes"), limit) or _at_most(files.get("memory.max"), limit)
        if _at_most(files.get("memory.memsw.limit_in_bytes"), limit):
            return True
        memory, swap = files.get("memory.max", ""), files.get("memory.swap.max", "")
        return memory.isdecimal() and swap.isdecimal() and int(memory) + int(swap) <= limit

    def _holds_cpus(self, limit: float) -> bool:
        quota, _, period = self._files.get("cpu.max", "").partition(" ")
        quota, period = (
            quota or self._files.get("cpu.cfs_quota_us", ""),
            period or self._files.get("cpu.cfs_period_us", ""),
        )
        # runc rounds the quota to microseconds of its period
        return quota.isdecimal() and period.isdecimal() and int(quota) <= limit * int(period) + 1


def _at_most(content: str | None, limit: int) -> bool:
    return content is not None and content.isdecimal() and int(content) <= limit


def examine(channel: Channel, root: str, api: APIClient, container: str) -> ControlGroup:
    """Read the group of a running container; `root` is the directory of the groups in the container.

    Raises: EnvironmentLost, EnvironmentUnavailable.
    """
    read = channel.run(_script(root).encode(), cwd="/", deadline_s=_READ_S, cap=_READ_BYTES, as_root=True)
    group = ControlGroup(bytes(read.output).decode(errors="replace"), container)
    if not group.is_readable and daemon.is_on_this_kernel(api):
        with daemon.reported(f"examining container {container[:12]}"):
            pid = int(api.inspect_container(container)["State"]["Pid"])
        group = ControlGroup("\n".join(_lines(pid)), container)
    return group


def _script(root: str) -> str:
    """Return a script for bash that prints the files of a container's own group, for `ControlGroup`."""
    directories = " ".join(("", *(f"/{name}" for name in _CONTROLLERS))).split(" ")
    places = " ".join(f"{root}{directory}" for directory in directories)
    return f"""
for directory in {places}; do
  for name in {" ".join(_FILES)}; do
    if [[ -r $directory/$name ]] && IFS= read -r content <"$directory/$name"; then echo "$name $content"; fi
  done
done
while read -r name content _; do if [[ $name == SwapTotal: ]]; then echo "swap $content"; fi; done </proc/meminfo
while IFS= read -r content; do echo "group $content"; done </proc/self/cgroup
"""


def _lines(pid: int) -> Iterator[str]:
    """Yield the same lines about the group of a process of this machine, as far as they can be read."""
    try:
        groups = Path(f"/proc/{pid}/cgroup").read_text().splitlines()
        memory = Path("/proc/meminfo").read_text().splitlines()
    except OSError:
        return
    yield from (f"swap {line.split()[1]}" for line in memory if line.startswith("SwapTotal:"))
    for group in groups:
        yield f"group {group}"
        _, controllers, path = group.split(":", 2)
        for place in (ROOT / controllers, ROOT / "unified"):
            for name in _FILES:
                try:
                    content = (place / path.lstrip("/") / name).read_text()
                except OSError:
                    continue
                yield f"{name} {content.strip()}"
