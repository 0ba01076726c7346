"""The facts about this machine that `agent doctor` prints, in the order in which a user needs them.

API keys appear by name, never with their values.
"""

from __future__ import annotations

import importlib.metadata
import os
import platform
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from agent.config import config_path
from agent.models.litellm.providers import providers
from environments.host import Host, survey
from environments.leftovers.cleaning import count as leftovers
from environments.protocol import Kind
from trajectories.writing import excerpts

BLOBS_VARIABLE = "PROGRAMBENCH_BLOB_DIR"
"""Variable with the directory in which the package `programbench` looks for test archives before downloading them."""
_PACKAGES = ("retrace-agent", "litellm", "docker", "pydantic", "pytest", "zstandard")


def examine(runs: Path) -> dict[str, Any]:
    """Return everything as one JSON object; `environments` reports for each kind whether it works, and why not."""
    existing = next(folder for folder in (runs.absolute(), *runs.absolute().parents) if folder.is_dir())
    host = survey(existing)
    return {
        "environments": {kind: _environment(kind, host) for kind in ("docker", "sandbox", "local")},
        "docker": {
            "version": host.docker.version,
            "storage_driver": host.docker.storage_driver,
            "cgroup": host.docker.cgroup,
        },
        "podman": host.podman,
        "bubblewrap": host.bubblewrap,
        "user_namespaces": host.sandbox_trouble is None,
        "pid_namespace": host.pid_namespace,
        "mmdebstrap": host.mmdebstrap,
        "machine": {
            "cores": host.cores,
            "memory_gib": round(host.memory_bytes / 2**30, 1),
            "memory_free_gib": round(host.memory_free_bytes / 2**30, 1),
            "disk_free_gib": round(host.disk_free_bytes / 2**30, 1),
            "system": platform.platform(),
        },
        "clock": {
            "utc": datetime.now(UTC).isoformat(timespec="seconds"),
            "monotonic_resolution_s": time.get_clock_info("monotonic").resolution,
        },
        "programbench": _programbench(),
        "leftovers": leftovers(),
        "keys_set": sorted({name for provider in providers().values() if provider.key() for name in provider.keys}),
        "config": {"path": str(config_path()), "exists": config_path().is_file()},
        "versions": {"python": platform.python_version(), **{name: _version(name) for name in _PACKAGES}},
    }


def _environment(kind: Kind, host: Host) -> dict[str, Any]:
    """Return whether a kind works, which only trying tells, whether it answers at all, and the reason if not."""
    trouble = {"docker": host.docker.trouble, "sandbox": host.sandbox_trouble, "local": None}[kind]
    reason = trouble or (host.docker.start_trouble if kind == "docker" else None)
    return {"works": reason is None, "answers": trouble is None, "trouble": reason and excerpts.masked(reason)}


def _programbench() -> dict[str, Any]:
    """Return facts about the benchmark's package, and the user's directories that its variables name."""
    from benchmarks.programbench import instances
    from benchmarks.task.task import TaskError

    variables = (BLOBS_VARIABLE, instances.TASKS_VARIABLE)
    trouble = None
    try:
        ids = instances.ids()
    except TaskError as error:
        ids, trouble = (), str(error)
    return {
        "package": _version("programbench"),
        "tasks": None if trouble else sum(map(instances.official, ids)),
        "own_tasks": None if trouble else sum(not instances.official(id) for id in ids),
        "trouble": trouble,
        **{name: _directories(os.environ.get(name, "")) for name in variables},
    }


def _directories(paths: str) -> list[dict[str, Any]] | None:
    """Return the directories that a variable names, each with whether it exists; None if the variable is not set."""
    return [{"path": path, "exists": Path(path).is_dir()} for path in paths.split(os.pathsep) if path] or None


def _version(package: str) -> str | None:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return None
