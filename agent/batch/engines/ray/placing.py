"""The number of trials that a node of the cluster may hold, and their distribution over the nodes.

A node that declares the custom resource `trial` holds that many trials. Any other node holds as many as its CPUs and
its memory allow, by what the tasks of the grid declare: 1 CPU, and no memory, for a task that declares nothing.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from agent.batch.engines.local import sizes
from trajectories.batches.configuration import Configuration

TRIAL = "trial"
"""Name of the custom resource."""


@dataclass(frozen=True)
class Need:
    """Resources of one trial. Any worker may get any unit, so it is the largest need of the grid."""

    cpus: float = 1.0
    memory_bytes: int = 0

    @classmethod
    def of(cls, grid: Iterable[Configuration]) -> Need:
        """Return the largest need of a grid."""
        specs = [configuration.first.environment_spec for configuration in grid]
        cpus = [_number(spec.get("cpus")) or 1.0 for spec in specs]
        memory = [int(_number(spec.get("memory_bytes"))) for spec in specs]
        return cls(max(cpus, default=1.0), max(memory, default=0))

    def trials(self, resources: Mapping[str, float]) -> int:
        """Return the number of trials that fit into these resources of a node."""
        if TRIAL in resources:
            return int(resources[TRIAL])
        by_memory = resources.get("memory", math.inf) / self.memory_bytes if self.memory_bytes else math.inf
        return int(min(resources.get("CPU", 0.0) / self.cpus, by_memory))

    def options(self, resources: Mapping[str, float], slots: int) -> dict[str, object]:
        """Return what an actor with so many trials requests from Ray on a node with these resources."""
        if TRIAL in resources:
            return {"num_cpus": 0, "resources": {TRIAL: slots}}
        memory = {"memory": self.memory_bytes * slots} if self.memory_bytes else {}
        return {"num_cpus": self.cpus * slots, **memory}


@dataclass(frozen=True)
class Place:
    """A worker to start."""

    node: str
    slots: int


def place(wanted: int, free: Mapping[str, int], cores: Mapping[str, int], per_process: int | None) -> list[Place]:
    """Distribute trials evenly over nodes with so many free places, and over worker processes on each."""
    given = dict.fromkeys(free, 0)
    while sum(given.values()) < wanted:
        open_nodes = [node for node in free if given[node] < free[node]]
        if not open_nodes:
            break
        given[min(open_nodes, key=given.__getitem__)] += 1
    return [
        Place(node, slots)
        for node, trials in given.items()
        if trials
        for slots in sizes(trials, per_process, max(1, cores.get(node, 1)))
    ]


def _number(value: object) -> float:
    return float(value) if isinstance(value, (int, float)) else 0.0
