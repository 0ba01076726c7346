"""Configurations and units for tests of the coordinator's pure parts."""

from __future__ import annotations

from agent.batch.units import UnitState
from trajectories.batches.configuration import Configuration
from trajectories.record.events import Limits, ModelRef, TaskRef, TextRef, TrialStarted


def configuration(task: str = "demo/ledger", model: str = "openai/m", arm: str = "base") -> Configuration:
    """Return a configuration that nothing could run."""
    first = TrialStarted(
        trial="",
        identity="",
        task=TaskRef(id=task, benchmark="demos", digest=task),
        model=ModelRef(asked=model, name=model, settings={}),
        prompt=TextRef(name=arm, sha256=arm),
        limits=Limits(),
        environment="sandbox",
    )
    number = Configuration.id_of(first)
    return Configuration(id=number, arm=arm, stem=f"{task.rpartition('/')[2]}.{number[:8]}", first=first)


def unit(attempt: int = 1, **of: str) -> UnitState:
    """Return a unit that is not begun."""
    made = configuration(**of)
    return UnitState(made, attempt, made.unit(attempt), made.trial(attempt))
