"""A worker on a node of a cluster, as the driver knows it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

from agent.batch.engines.ray.cluster import Actor, Node

State = Literal["examined", "starting", "running", "adopted", "gone"]


@dataclass
class Worker:
    """A worker on a node."""

    name: str
    node: Node
    slots: int
    actor: Actor
    state: State = "examined"
    reference: Any = None
    """The call whose result is awaited."""
    sent: list[Any] = field(default_factory=list)
    """Calls that were sent and may still fail."""
    units: dict[str, str] = field(default_factory=dict)
    """Units that it runs, with their first trials."""
    present: set[str] = field(default_factory=set)
    """Configurations, contents and parents of forks that its node has."""
    machine: str = ""
    has_joined: bool = False
