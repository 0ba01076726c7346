"""The compose file of a task: what it asks of the container in which the agent works.

It is read as YAML and never run by compose. Only the service `client` exists; keys that nothing here provides are
refused by name. What only the host sees, such as published ports, is ignored.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.task.quantities import size_bytes
from benchmarks.task.task import TaskError
from benchmarks.task.yaml_file import text_of
from trajectories import yaml_mistakes
from trajectories.yaml_mistakes import Mistake, Mistakes

NAMES = ("docker-compose.yaml", "docker-compose.yml", "compose.yaml", "compose.yml")
CLIENT = "client"
TEST_DIR = "/tests"
LOGS = ("/logs", "/agent-logs")
"""Directories of the container that the authors' harness mounts from the host."""
VARIABLES: Mapping[str, str] = {
    "T_BENCH_TEST_DIR": TEST_DIR,
    "T_BENCH_CONTAINER_LOGS_PATH": LOGS[0],
    "T_BENCH_CONTAINER_AGENT_LOGS_PATH": LOGS[1],
}
"""Variables of the authors' harness that have a meaning inside of the container."""
_HOST_VARIABLES = (
    "T_BENCH_TASK_DOCKER_CLIENT_IMAGE_NAME",
    "T_BENCH_TASK_DOCKER_CLIENT_CONTAINER_NAME",
    "T_BENCH_TASK_DOCKER_NAME_PREFIX",
    "T_BENCH_TASK_LOGS_PATH",
    "T_BENCH_TASK_AGENT_LOGS_PATH",
)
"""Variables that name things of the host. Nothing of ours has these names."""
_VARIABLE = re.compile(r"\$(?:\{(\w+)(?::?-([^}]*))?\}|(\w+))")
_IGNORED = frozenset(
    {"container_name", "expose", "init", "labels", "ports", "pull_policy", "restart", "stdin_open", "tty"}
)
"""Keys that do not change what an agent or a test sees."""


@dataclass(frozen=True)
class Client:
    """The container of the agent, as a compose file describes it."""

    context: str = "."
    """Build context, relative to the directory of the task."""
    dockerfile: str = "Dockerfile"
    args: Mapping[str, str] = field(default_factory=dict)
    image: str | None = None
    """Image to pull, if there is nothing to build."""
    platform: str | None = None
    network: bool = True
    cpus: float | None = None
    memory_bytes: int | None = None
    shm_bytes: int | None = None
    env: Mapping[str, str] = field(default_factory=dict)


def read(file: Callable[[str], Path]) -> Client:
    """Return the client of a task, whose files `file` finds; without a compose file, it is built from the Dockerfile.

    Raises: TaskError (file, lines, keys, reasons).
    """
    path = next((path for path in map(file, NAMES) if path.is_file()), None)
    if path is None:
        return Client(env={"TEST_DIR": TEST_DIR})
    try:
        content = yaml_mistakes.checked(text_of(path), _mistakes)
        return _client(content["services"][CLIENT] or {})
    except Mistakes as mistakes:
        raise TaskError(f"{path}: {mistakes}") from None


def _client(service: Mapping[str, Any]) -> Client:
    """Return the client of a service without mistakes."""
    build = service.get("build")
    if isinstance(build, str):
        build = {"context": build}
    pulled = None if build is not None else _text(service.get("image"))
    return Client(
        context=_text((build or {}).get("context", ".")),
        dockerfile=_text((build or {}).get("dockerfile", "Dockerfile")),
        args=dict(_pairs((build or {}).get("args"))),
        image=pulled or None,
        platform=service.get("platform"),
        network=service.get("network_mode") != "none",
        cpus=float(service["cpus"]) if "cpus" in service else None,
        memory_bytes=_bytes(service.get("memswap_limit", service.get("mem_limit"))),  # our limit includes swap
        shm_bytes=_bytes(service.get("shm_size")),
        env={"TEST_DIR": TEST_DIR, **dict(_pairs(service.get("environment")))},
    )


def _mistakes(content: Any) -> Iterator[Mistake]:
    services = content.get("services") if isinstance(content, dict) else None
    if not isinstance(services, dict) or CLIENT not in services:
        yield Mistake(("services",), f"must have the service {CLIENT}")
        return
    for name in services:
        if name != CLIENT:
            yield Mistake(("services", name), "a second service is not provided")
    for key in content:
        if key not in ("services", "version", "name") and content[key]:
            yield Mistake((key,), "is not provided")
    service = services[CLIENT] or {}
    if not isinstance(service, dict):
        yield Mistake(("services", CLIENT), "must be a mapping of keys to values")
        return
    for key, value in service.items():
        check = _CHECKS.get(key)
        reason = "" if key in _IGNORED else "is not provided" if check is None else check(value)
        if reason:
            yield Mistake(("services", CLIENT, key), reason)


def _of_build(value: Any) -> str:
    if isinstance(value, str):
        return ""
    if not isinstance(value, dict):
        return "must be a directory or a mapping"
    extra = [str(key) for key in value if key not in ("context", "dockerfile", "args")]
    if extra:
        return f"{extra[0]} is not provided"
    texts = [value.get("context", "."), value.get("dockerfile", "Dockerfile")]
    if not all(isinstance(text, str) for text in texts):
        return "context and dockerfile must be texts"
    return _of_pairs(value.get("args"))


def _of_text(value: Any) -> str:
    return "" if isinstance(value, str) else "must be a text"


def _of_command(value: Any) -> str:
    words = value if isinstance(value, list) else [value]
    sleeps = any(
        "sleep infinity" in str(word) or "tail -f /dev/null" in str(word) for word in [" ".join(map(str, words))]
    )
    return "" if sleeps else "is not provided, only one that waits (sleep infinity)"


def _of_pairs(value: Any) -> str:
    if value is None or isinstance(value, list | dict):
        items = value.values() if isinstance(value, dict) else value or ()
        if all(item is None or isinstance(item, str | int | float) for item in items):
            unset = [name for item in items for name in _unset(str(item))]
            return f"the variable {unset[0]} is not set" if unset else ""
    return "must be a list of NAME=VALUE or a mapping"


def _of_size(value: Any) -> str:
    try:
        _bytes(value)
    except (ValueError, TypeError):
        return "must be a size such as 4g"
    return ""


def _of_cpus(value: Any) -> str:
    try:
        return "" if float(value) > 0 else "must be greater than 0"
    except (ValueError, TypeError):
        return "must be a number"


def _of_network(value: Any) -> str:
    return "" if value in ("none", "bridge", "default") else "is not provided, only none and bridge"


def _of_volumes(value: Any) -> str:
    if not isinstance(value, list):
        return "must be a list"
    for item in value:
        if not (isinstance(item, str) and item.startswith(("${T_BENCH_TASK_", "$T_BENCH_TASK_"))):
            return f"the mount {yaml_mistakes.shown(item)} is not provided"
    return ""


_CHECKS = {
    "build": _of_build,
    "image": _of_text,
    "platform": _of_text,
    "command": _of_command,
    "cpus": _of_cpus,
    "mem_limit": _of_size,
    "memswap_limit": _of_size,
    "network_mode": _of_network,
    "shm_size": _of_size,
    "environment": _of_pairs,
    "volumes": _of_volumes,
}


def _pairs(value: Any) -> Iterator[tuple[str, str]]:
    """Yield the variables of a list of `NAME=VALUE` or of a mapping. One without a value is the host's: left out."""
    items = value.items() if isinstance(value, dict) else (str(item).partition("=")[::2] for item in value or ())
    for name, text in items:
        if text is not None and text != "":
            yield str(name), _text(_plain(text))


def _bytes(value: Any) -> int | None:
    return None if value is None else size_bytes(value)


def _plain(value: Any) -> str:
    """Return a scalar of YAML as compose passes it on."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def _text(value: Any) -> str:
    """Return a text with the variables of the authors' harness in place."""
    return _VARIABLE.sub(lambda match: VARIABLES.get(match[1] or match[3], match[2] or ""), str(value or ""))


def _unset(text: str) -> list[str]:
    """Return the variables in a text that have neither a value here nor a default."""
    names = ((match[1] or match[3], match[2]) for match in _VARIABLE.finditer(text))
    return [name for name, default in names if default is None and name not in (*VARIABLES, *_HOST_VARIABLES)]
