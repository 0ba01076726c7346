"""The keys of a compose file that can be provided, as models. `compose` says what becomes of them.

A short form (a text, a list) is turned into the long one before it is checked, so that each key has one type.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Mapping
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from benchmarks.task.quantities import size_bytes
from environments.services import Condition, Restart
from trajectories.yaml_mistakes import shown

_CONDITIONS: Mapping[str, Condition] = {
    "service_started": "started",
    "service_healthy": "healthy",
    "service_completed_successfully": "completed",
}
_DURATION = {"us": 1e-6, "ms": 1e-3, "s": 1.0, "m": 60.0, "h": 3600.0}


class _Part(BaseModel):
    """A part of the file. Keys that it does not have are reported by `compose`, with the reason."""

    model_config = ConfigDict(frozen=True, extra="ignore")


def _pairs(value: Any) -> Any:
    """Return variables as a mapping. One without a value would come from this machine, and is left out."""
    if not isinstance(value, dict | list | None):
        raise ValueError("must be a list of NAME=VALUE or a mapping")
    items = value.items() if isinstance(value, dict) else [(item, None) for item in value or ()]
    pairs = {}
    for key, text in items:
        if isinstance(key, dict | list) or isinstance(text, dict | list):
            raise ValueError("must be a list of NAME=VALUE or a mapping of texts")
        if isinstance(value, list):
            key, separator, text = str(key).partition("=")
            text = text if separator else None
        if text is not None:
            pairs[str(key)] = str(text).lower() if isinstance(text, bool) else str(text)
    return pairs


def _words(value: Any) -> Any:
    """Return a command as its words."""
    try:
        return tuple(shlex.split(value)) if isinstance(value, str) else value
    except ValueError as error:
        raise ValueError(f"{shown(value)}: {str(error).lower()}") from None


def _size(value: Any) -> Any:
    try:
        return None if value is None else size_bytes(value)
    except (ValueError, TypeError):
        raise ValueError(f"must be a size such as 4g, not {shown(value)}") from None


def _seconds(value: Any) -> Any:
    """Return the seconds of a duration such as `1m30s`."""
    rest, seconds = str(value).strip(), 0.0
    while rest:
        digits = len(rest) - len(rest.lstrip("0123456789."))
        unit = next((unit for unit in ("us", "ms", "s", "m", "h") if rest[digits:].startswith(unit)), None)
        if not digits or unit is None or rest[:digits].count(".") > 1:
            raise ValueError(f"must be a duration such as 1m30s, not {shown(value)}")
        seconds += float(rest[:digits].rstrip(".") or "0") * _DURATION[unit]
        rest = rest[digits + len(unit) :]
    return seconds


def _one_of(names: str) -> Callable[[Any], Any]:
    def check(value: Any) -> Any:
        if value not in names.split():
            raise ValueError(f"is not provided, only {names.replace(' ', ' and ')}")
        return value

    return check


def _mapping_of(short: str) -> Callable[[Any], Any]:
    """Return a validator that turns a text into a mapping with this key."""
    return lambda value: {short: value} if isinstance(value, str) else value


def _build(value: Any) -> Any:
    if not isinstance(value, dict | str | None):
        raise ValueError("must be a directory or a mapping")
    for key in value if isinstance(value, dict) else ():
        if key not in ("context", "dockerfile", "args"):
            raise ValueError(f"{key} is not provided")
    return {"context": value} if isinstance(value, str) else value


def _depends_on(value: Any) -> Any:
    if isinstance(value, list):
        return {str(name): "started" for name in value}
    if not isinstance(value, dict | None):
        raise ValueError("must be a list or a mapping of services")
    conditions = {}
    for name, part in (value or {}).items():
        condition = str((part or {}).get("condition", "service_started")) if isinstance(part, dict | None) else ""
        if condition not in _CONDITIONS:
            raise ValueError(f"{name}: condition must be {', '.join(_CONDITIONS)}")
        conditions[str(name)] = _CONDITIONS[condition]
    return conditions


def _networks(value: Any) -> Any:
    """Return the names that a service has in each of its networks."""
    if isinstance(value, list):
        return {str(name): () for name in value}
    if not isinstance(value, dict | None):
        raise ValueError("must be a list or a mapping of networks")
    for name, part in (value or {}).items():
        if not isinstance(part, dict | None):
            raise ValueError(f"{name}: must be a mapping")
        for key in part or ():
            if key not in ("aliases", "priority"):
                raise ValueError(f"{name}: {key} is not provided")
    return {str(name): (part or {}).get("aliases", ()) for name, part in (value or {}).items()}


def _volume(value: Any) -> Any:
    """Return a mount in its long form: `SOURCE:TARGET:ro` is one with a source, `TARGET` one without."""
    if not isinstance(value, str):
        return value
    parts = value.split(":")
    source, target, modes = (parts[0], parts[1], parts[2:]) if len(parts) > 1 else ("", parts[0], [])
    options = {option for mode in modes for option in mode.split(",")} - {"z", "Z"}
    if options - {"ro", "rw"}:
        raise ValueError(f"the mount {shown(value)} is not provided")
    kind = "bind" if source.startswith((".", "/", "~")) else "volume"
    return {"type": kind, "source": source, "target": target, "read_only": "ro" in options}


def _restart(value: Any) -> Any:
    """Return when a service starts again; `no` without quotes is false, and a number of tries does not count."""
    return "no" if value is False else value.partition(":")[0] if isinstance(value, str) else value


def _tmpfs(value: Any) -> Any:
    items = [value] if isinstance(value, str) else value
    return tuple(str(item).partition(":")[0] for item in items) if isinstance(items, list) else items


def _test(value: Any) -> Any:
    """Return a health check's program with its arguments; none at all turns it off."""
    if isinstance(value, str):
        return ("/bin/sh", "-c", value)
    if not isinstance(value, list) or not value or value[0] not in ("NONE", "CMD", "CMD-SHELL"):
        raise ValueError("must be a text, or a list that begins with CMD, CMD-SHELL or NONE")
    words = tuple(map(str, value[1:]))
    return {"NONE": (), "CMD": words, "CMD-SHELL": ("/bin/sh", "-c", *words)}[value[0]]


Pairs = Annotated[Mapping[str, str], BeforeValidator(_pairs)]
Words = Annotated[tuple[str, ...] | None, BeforeValidator(_words)]
Size = Annotated[int | None, BeforeValidator(_size)]
Seconds = Annotated[float, BeforeValidator(_seconds)]
Positive = Annotated[float, Field(gt=0)]


class BuildPart(_Part):
    """How the image of a service is built."""

    context: str = "."
    dockerfile: str = "Dockerfile"
    args: Pairs = {}


class HealthPart(_Part):
    """A check that succeeds once a service is ready."""

    test: Annotated[tuple[str, ...] | None, BeforeValidator(_test)] = None
    interval: Seconds = 30.0
    timeout: Seconds = 30.0
    start_period: Seconds = 0.0
    retries: int = 3
    disable: bool = False


class VolumePart(_Part):
    """A mount of a service."""

    type: Literal["bind", "volume", "tmpfs"]
    target: str
    source: str = ""
    read_only: bool = False


class Limits(_Part):
    """Resources of a service in its newer form."""

    cpus: Positive | None = None
    memory: Size = None
    pids: int | None = None


class Resources(_Part):
    """The table `deploy.resources`."""

    limits: Limits = Limits()


class Deploy(_Part):
    """The table `deploy`, of which only the limits of resources count here."""

    resources: Resources = Resources()


class ServicePart(_Part):
    """A service of the file."""

    build: Annotated[BuildPart | None, BeforeValidator(_build)] = None
    image: str | None = None
    platform: str | None = None
    command: Words = None
    entrypoint: Words = None
    environment: Pairs = {}
    depends_on: Annotated[Mapping[str, Condition], BeforeValidator(_depends_on)] = {}
    healthcheck: HealthPart | None = None
    networks: Annotated[Mapping[str, tuple[str, ...]], BeforeValidator(_networks)] = {}
    network_mode: Annotated[str | None, BeforeValidator(_one_of("none bridge default"))] = None
    hostname: str | None = None
    volumes: tuple[Annotated[VolumePart, BeforeValidator(_volume)], ...] = ()
    tmpfs: Annotated[tuple[str, ...], BeforeValidator(_tmpfs)] = ()
    user: Annotated[str | None, BeforeValidator(lambda value: str(value) if isinstance(value, int) else value)] = None
    working_dir: str | None = None
    restart: Annotated[Restart, BeforeValidator(_restart)] = "no"
    init: bool = False
    stop_signal: str | None = None
    cpus: Positive | None = None
    mem_limit: Size = None
    memswap_limit: Size = None
    shm_size: Size = None
    pids_limit: int | None = None
    deploy: Deploy = Deploy()

    @property
    def memory_bytes(self) -> int | None:
        """The limit on memory; ours includes swap."""
        return self.memswap_limit or self.mem_limit or self.deploy.resources.limits.memory


class NetworkPart(_Part):
    """A network of the file."""

    internal: bool = False


class ComposeFile(_Part):
    """A compose file."""

    services: Mapping[str, Annotated[ServicePart, BeforeValidator(lambda value: {} if value is None else value)]]
    networks: Mapping[str, NetworkPart | None] = {}
    volumes: Mapping[str, Any] = {}
