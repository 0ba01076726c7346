"""Mistakes in a compose file, and what it asks for that cannot be provided: each with its place and the reason."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from benchmarks.containers.compose_file import ComposeFile, ServicePart, VolumePart
from benchmarks.containers.interpolation import interpolated, unset
from environments.services import MAIN
from trajectories.yaml_mistakes import Mistake, Place, of_validation, shown

IGNORED = frozenset(
    {
        *("attach", "annotations", "container_name", "expose", "labels", "logging", "ports"),
        *("pull_policy", "stdin_open", "stop_grace_period", "tty"),
    }
)
"""Keys of a service that do not change what an agent or a test sees."""
_TOP = frozenset({"services", "version", "name", "networks", "volumes"})
_NETWORK = frozenset({"internal", "driver", "name", "labels", "attachable"})
_VOLUME = frozenset({"driver", "name", "labels"})
_OWN_OF_SERVICES = ("command", "entrypoint", "healthcheck", "restart", "stop_signal")
"""Keys that the main container cannot have, because an agent's shell is its program."""
_WAITS = ("sleep infinity", "tail -f /dev/null")


@dataclass(frozen=True)
class Rules:
    """What a format adds to compose files."""

    main: str
    """Name of the service in which the agent works."""
    variables: Mapping[str, str] = field(default_factory=dict)
    mounts: tuple[str, ...] = ()
    """Beginnings of mounts that are the harness's own, and are left out."""
    needs_main: bool = True
    """True if the main service has to be among those of the file."""


def prepared(content: Any, rules: Rules) -> Any:
    """Return the content without the mounts of the harness, with the variables in place."""
    services = {}
    for name, service in content["services"].items():
        service = dict(service or {})
        if isinstance(volumes := service.get("volumes"), list):
            service["volumes"] = [each for each in volumes if not _is_own(each, rules)]
        services[name] = service
    return interpolated({**content, "services": services}, rules.variables)


def _is_own(volume: Any, rules: Rules) -> bool:
    source = volume.get("source") if isinstance(volume, dict) else volume
    return isinstance(source, str) and bool(rules.mounts) and source.startswith(rules.mounts)


def mistakes_in(content: Any, rules: Rules, context: Path) -> Iterator[Mistake]:
    services = content.get("services") if isinstance(content, dict) else None
    if not isinstance(services, dict) or (rules.needs_main and rules.main not in services):
        yield Mistake(("services",), f"must have the service {rules.main}")
        return
    yield from _not_provided((), content, _TOP)
    broken = False
    for name, service in services.items():
        if not isinstance(service, dict | None):
            yield Mistake(("services", name), "must be a mapping of keys to values")
            broken = True
        else:
            yield from _not_provided(("services", name), service or {}, ServicePart.model_fields.keys() | IGNORED)
    if broken:
        return
    ready = prepared(content, rules)
    own = {**content, "services": {name: _without_own(service, rules) for name, service in services.items()}}
    yield from unset(own, rules.variables)
    try:
        parsed = ComposeFile.model_validate(ready)
    except ValidationError as error:
        yield from of_validation(error, ComposeFile)
        return
    yield from _of_groups(ready, parsed, rules)
    for name, part in parsed.services.items():
        yield from _of_service(("services", name), part, parsed, rules, context)


def _without_own(service: Any, rules: Rules) -> Any:
    """Return a service as it is written, without the mounts of the harness, whose variables need no value."""
    if not isinstance(service, dict) or not isinstance(service.get("volumes"), list):
        return service
    return {**service, "volumes": [None if _is_own(each, rules) else each for each in service["volumes"]]}


def _not_provided(place: Place, content: Mapping[str, Any], provided: Any) -> Iterator[Mistake]:
    for key, value in content.items():
        if key not in provided and not str(key).startswith("x-") and value not in (None, False, [], {}):
            yield Mistake((*place, key), "is not provided")


def _of_groups(content: Any, parsed: ComposeFile, rules: Rules) -> Iterator[Mistake]:
    """Yield the mistakes in the tables of networks and volumes, and in what the services need of each other."""
    for table, provided in (("networks", _NETWORK), ("volumes", _VOLUME)):
        for name, part in (content.get(table) or {}).items():
            if not isinstance(part, dict | None):
                yield Mistake((table, name), "must be a mapping")
                continue
            yield from _not_provided((table, name), part or {}, provided)
            driver = (part or {}).get("driver")
            if driver not in (None, "bridge" if table == "networks" else "local"):
                yield Mistake((table, name, "driver"), f"the driver {shown(driver)} is not provided")
    members = {**parsed.services, rules.main: parsed.services.get(rules.main)}
    for name, part in parsed.services.items():
        for needed in part.depends_on:
            if needed not in members:
                yield Mistake(("services", name, "depends_on"), f"there is no service {needed}")
        for network in part.networks:
            if network != "default" and network not in parsed.networks:
                yield Mistake(("services", name, "networks"), f"there is no network {network}")
    if rules.main != MAIN and MAIN in parsed.services:
        yield Mistake(("services", MAIN), f"a service beside {rules.main} cannot have this name")


def _of_service(place: Place, part: ServicePart, parsed: ComposeFile, rules: Rules, context: Path) -> Iterator[Mistake]:
    if part.networks and part.network_mode is not None:
        yield Mistake((*place, "network_mode"), "cannot stand beside networks")
    if part.build is not None:
        if not _is_inside(context, part.build.context):
            yield Mistake((*place, "build"), f"the build context {part.build.context!r} lies outside of the task")
        elif not _is_inside(context / part.build.context, part.build.dockerfile):
            yield Mistake((*place, "build"), f"the Dockerfile {part.build.dockerfile!r} lies outside of its context")
    for volume in part.volumes:
        yield from _of_volume(place, volume, parsed, context)
    if place[-1] != rules.main:
        if part.build is None and part.image is None:
            yield Mistake(place, "has neither build nor image")
        return
    for key in _OWN_OF_SERVICES:
        value = getattr(part, key)
        if key in part.model_fields_set and value not in (None, "no") and not (key == "command" and _waits(value)):
            rest = ", only one that waits (sleep infinity)" if key == "command" else " for the container of the agent"
            if key not in ("restart", "stop_signal"):
                yield Mistake((*place, key), f"is not provided{rest}")


def _of_volume(place: Place, volume: VolumePart, parsed: ComposeFile, context: Path) -> Iterator[Mistake]:
    name = shown(f"{volume.source}:{volume.target}" if volume.source else volume.target)
    if volume.type == "bind":
        if not volume.source or not _is_inside(context, volume.source):
            yield Mistake((*place, "volumes"), f"the mount {name} is not provided: it lies outside of the task")
        elif not volume.read_only:
            yield Mistake((*place, "volumes"), f"the mount {name} is not provided, only a read-only one (:ro)")
    elif volume.type == "volume" and volume.source and volume.source not in parsed.volumes:
        yield Mistake((*place, "volumes"), f"there is no volume {volume.source}")
    if not volume.target.startswith("/"):
        yield Mistake((*place, "volumes"), f"the mount {name} needs an absolute path in the container")


def _is_inside(context: Path, name: str) -> bool:
    top = context.resolve()
    return (top / name).resolve().is_relative_to(top)


def _waits(command: tuple[str, ...]) -> bool:
    return any(text in " ".join(command) for text in _WAITS)
