"""Facts about this machine that matter for environments, for `agent doctor`. It starts only short probes.

That a daemon answers does not mean that it can start containers, so one is started in an image that is here.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from environments.local import pid_namespace
from environments.protocol import EnvironmentFault, EnvironmentSpec, EnvironmentUnavailable
from environments.sandbox import bubblewrap
from trajectories.processes import boot_id

_MOST_TRIED = 3
"""Most images in which a container is tried."""


@dataclass(frozen=True)
class Daemon:
    """A Docker daemon that answers, or the reason for which none does."""

    version: str | None = None
    storage_driver: str | None = None
    cgroup: str | None = None
    """Version and driver, for example `v2, systemd`."""
    root: str | None = None
    trouble: str | None = None
    """Reason for which none answers."""
    start_trouble: str | None = None
    """Reason for which no container was started, although it answers; None if one was."""


@dataclass(frozen=True)
class Host:
    """This machine. Each `*_trouble` is None if all is well; sizes are in bytes."""

    docker: Daemon
    podman: str | None
    """Version of Podman; None if it is not installed. Docker's client reaches it by DOCKER_HOST."""
    bubblewrap: str | None
    sandbox_trouble: str | None
    """Reason for which no sandbox can be made. Found out by trying."""
    pid_namespace: bool
    """True if the local environment gets a process list of its own."""
    mmdebstrap: bool
    cores: int
    memory_bytes: int
    memory_free_bytes: int
    disk_free_bytes: int
    """Free bytes on the file system of `directory`."""
    boot_id: str


def survey(directory: Path | None = None) -> Host:
    """Examine this machine. Takes a second and never raises."""
    memory = _meminfo()
    return Host(
        docker=_docker(),
        podman=_podman(),
        bubblewrap=bubblewrap.version(),
        sandbox_trouble=bubblewrap.obstacle(bubblewrap.outer_user()),
        pid_namespace=bool(pid_namespace()),
        mmdebstrap=shutil.which("mmdebstrap") is not None,
        cores=len(os.sched_getaffinity(0)),
        memory_bytes=memory.get("MemTotal", 0),
        memory_free_bytes=memory.get("MemAvailable", 0),
        disk_free_bytes=shutil.disk_usage(directory or Path.cwd()).free,
        boot_id=boot_id(),
    )


def _docker() -> Daemon:
    from environments.docker import daemon

    try:
        api = daemon.connect(daemon.QUICK_S)
        try:
            facts = daemon.facts(api)
            with daemon.reported("listing images"):
                images = api.images()
        finally:
            api.close()
    except EnvironmentUnavailable as error:
        return Daemon(trouble=str(error))
    return Daemon(
        version=facts.get("ServerVersion"),
        storage_driver=facts.get("Driver"),
        cgroup=f"v{facts.get('CgroupVersion', '?')}, {facts.get('CgroupDriver', '?')}",
        root=facts.get("DockerRootDir"),
        start_trouble=_start_trouble(images),
    )


def _start_trouble(images: Sequence[Mapping[str, Any]]) -> str | None:
    """Start a container in one of these images, and stop it; return the reason if none starts.

    Our own images come first, because they have bash; of the others, the smallest ones are tried.
    """
    from environments.docker.environment import DockerEnvironment
    from environments.docker.stored_images import BUILT_LABEL

    def preference(image: Mapping[str, Any]) -> tuple[bool, int]:
        return BUILT_LABEL not in (image.get("Labels") or {}), int(image.get("Size") or 0)

    trouble = "no container was tried, because there is no image here; load or pull one"
    for image in sorted(images, key=preference)[:_MOST_TRIED]:
        environment = DockerEnvironment(EnvironmentSpec(kind="docker", image=str(image["Id"]), user="0"))
        try:
            environment.start()
            return None
        except EnvironmentFault as error:
            trouble = str(error)
        finally:
            environment.stop()
    return trouble


def _podman() -> str | None:
    if not shutil.which("podman"):
        return None
    try:
        process = subprocess.run(["podman", "--version"], capture_output=True, text=True, timeout=10, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return process.stdout.strip().rpartition(" ")[2] or None


def _meminfo() -> dict[str, int]:
    try:
        lines = Path("/proc/meminfo").read_text().splitlines()
    except OSError:
        return {}
    return {name: int(rest.split()[0]) << 10 for name, _, rest in (line.partition(":") for line in lines)}
