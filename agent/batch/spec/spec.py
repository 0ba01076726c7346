"""The spec of a batch: which tasks, models and arms it has, and what it may cost.

A spec is what its file says, parsed but not resolved: names are still names. `spec_file` reads it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from environments.protocol import Kind
from trajectories.record.base import Json
from trajectories.yaml_mistakes import Place

BASE_ARM = "base"
"""Name of the only arm of a spec without arms."""
CHANGEABLE = ("workers", "evaluations", "reruns", "budget")
"""Keys that may change between two runs of a batch."""


@dataclass(frozen=True)
class TaskName:
    """An entry of `tasks`: an id, a short name, a pattern, a tier or a directory."""

    name: str
    place: Place


@dataclass(frozen=True)
class ModelEntry:
    """An entry of `models`."""

    name: str
    settings: Json = field(default_factory=dict)
    place: Place = ()


PARENTS_MODEL = ModelEntry("the parent's", {}, ("from",))
"""Stands for the model of the trial that units are forked from."""


@dataclass(frozen=True)
class Arm:
    """A named line of the grid: options of `agent solve`, by their names in the spec."""

    name: str
    options: Mapping[str, Any] = field(default_factory=dict)

    @property
    def place(self) -> Place:
        """The place of the arm in its file."""
        return ("arms", self.name)


@dataclass(frozen=True)
class Exclusion:
    """An entry of `exclude`: the task, the model and the arm that it leaves out; None stands for all."""

    task: str | None
    model: str | None
    arm: str | None
    place: Place


@dataclass(frozen=True)
class Branches:
    """The value of `from`: trials, and steps of each after which trials of the batch begin."""

    trials: tuple[str, ...]
    at: str


@dataclass(frozen=True)
class SpecLimits:
    """Limits of each trial; None leaves one to the task."""

    steps: int | None = None
    time_s: float | None = None
    tokens: int | None = None
    cost_usd: float | None = None
    command_s: float | None = None


@dataclass(frozen=True)
class Budget:
    """Bounds on all calls of the batch together; None is no bound."""

    usd: float | None = None
    tokens: int | None = None


@dataclass(frozen=True)
class Spec:
    """The spec of a batch."""

    path: Path
    text: str
    """Content of the file, in which lines of mistakes are found."""
    name: str
    """Name of the batch, and of its folder."""
    tasks: tuple[TaskName, ...]
    models: tuple[ModelEntry, ...]
    arms: tuple[Arm, ...]
    env: Kind | None
    """Kind of the environment; None only in a spec whose mistakes are being collected."""
    attempts: int = 1
    exclude: tuple[Exclusion, ...] = ()
    limits: SpecLimits = SpecLimits()
    prices: str | None = None
    branches: Branches | None = None
    budget: Budget = Budget()
    workers: int = 4
    evaluations: int = 2
    reruns: int = 2
    content: Json = field(default_factory=dict)
    """The content of the file as it is."""

    @property
    def recorded(self) -> Json:
        """The content of the file without the keys that may change between two runs."""
        return {key: value for key, value in self.content.items() if key not in CHANGEABLE}
