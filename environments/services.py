"""Services: containers that run beside the main one, in which actions run. Types only; environments/docker starts them.

All of a task's containers are members of one group. It has private networks and volumes of its own, which are made
for one environment and removed with it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from environments.build import Build

Condition = Literal["started", "healthy", "completed"]
"""State of a service that another member waits for; `completed` is an end with exit status 0."""
Restart = Literal["no", "on-failure", "always", "unless-stopped"]
"""When the daemon starts a service again that has ended."""
MAIN = "main"
"""Name of the main container among the members of a group."""


@dataclass(frozen=True)
class Healthcheck:
    """A command that succeeds in a service once it is ready."""

    test: tuple[str, ...]
    """Program and arguments; empty if the image's own health check is turned off."""
    interval_s: float = 30.0
    """Longest time between two checks until the first success."""
    timeout_s: float = 30.0
    start_period_s: float = 0.0
    """Time in which failures do not count."""
    retries: int = 3


@dataclass(frozen=True)
class Mount:
    """A directory or file that a member does not have from its image."""

    kind: Literal["bind", "volume", "tmpfs"]
    target: str
    source: str = ""
    """Path of a bind mount on the host, or name of a volume within the group. A volume without one is its member's."""
    read_only: bool = False
    size_bytes: int | None = None
    """Size of a tmpfs."""

    def __post_init__(self) -> None:
        if self.kind == "bind" and not self.read_only:
            raise ValueError(f"{self.target}: a bind mount has to be read-only, because it is a part of the task")


@dataclass(frozen=True)
class Network:
    """A private network of a group."""

    name: str = "default"
    internal: bool = False
    """True if it leads nowhere else, even if the task has a network."""


@dataclass(frozen=True)
class Member:
    """The place of a container in its group."""

    networks: tuple[Network, ...] = (Network(),)
    """None at all: it has only its loopback device."""
    aliases: tuple[str, ...] = ()
    """Names by which other members reach it, besides its own."""
    hostname: str | None = None
    mounts: tuple[Mount, ...] = ()
    depends_on: Mapping[str, Condition] = field(default_factory=dict)
    """Members that have to reach a state before this one starts."""

    @property
    def volumes(self) -> tuple[str, ...]:
        """Directories in volumes, which are in no commit and no snapshot."""
        return tuple(mount.target for mount in self.mounts if mount.kind in ("volume", "tmpfs"))


@dataclass(frozen=True)
class Service:
    """A container beside the main one, which runs its image's own program."""

    name: str
    member: Member = Member()
    image: str | None = None
    build: Build | None = None
    platform: str | None = None
    command: tuple[str, ...] | None = None
    """None is the image's own."""
    entrypoint: tuple[str, ...] | None = None
    user: str | None = None
    workdir: str | None = None
    env: Mapping[str, str] = field(default_factory=dict)
    healthcheck: Healthcheck | None = None
    """None is the image's own."""
    restart: Restart = "no"
    init: bool = False
    """Run a small init program as its first process, which reaps orphans."""
    stop_signal: str | None = None
    cpus: float | None = None
    memory_bytes: int | None = None
    pids: int | None = 4096
    shm_bytes: int | None = None


def in_order(services: tuple[Service, ...], main: Member) -> tuple[list[Service], list[Service]]:
    """Return the services in an order in which they can start: those before the main container, and those after it.

    Raises: ValueError if one depends on itself, or on a member that does not exist.
    """
    members: dict[str, Member] = {MAIN: main, **{service.name: service.member for service in services}}
    by_name = {service.name: service for service in services}
    ordered: list[str] = []
    entered: list[str] = []

    def visit(name: str) -> None:
        if name in entered:
            raise ValueError(f"{' -> '.join([*entered[entered.index(name) :], name])}: a member depends on itself")
        if name in ordered:
            return
        entered.append(name)
        for needed in members[name].depends_on:
            if needed not in members:
                raise ValueError(f"{name} depends on {needed}, and there is no such member")
            visit(needed)
        entered.remove(name)
        ordered.append(name)

    waits = {name for name in by_name if _needs(name, MAIN, members)}
    for name in [*(name for name in by_name if name not in waits), MAIN, *waits]:
        visit(name)
    at = ordered.index(MAIN)
    return [by_name[name] for name in ordered[:at]], [by_name[name] for name in ordered[at + 1 :]]


def _needs(name: str, needed: str, members: Mapping[str, Member]) -> bool:
    """Return whether a member depends on another, also over others between them."""
    seen, left = {name}, [name]
    while left:
        member = members.get(left.pop())
        for each in member.depends_on if member else ():
            if each == needed:
                return True
            if each not in seen:
                seen.add(each)
                left.append(each)
    return False
