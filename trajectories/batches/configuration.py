"""One configuration of a batch: a line of `grid.jsonl`.

A configuration is a task, a model and an arm, resolved: a worker needs this line, the contents in `.inputs`, the task
itself, and keys from its own environment, but no configuration of the user. Each of its attempts is one unit of work:
a trial, or a chain of turns. The coordinator hands units out by their identity, so two workers never do the same.
"""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field

from trajectories.record.base import Json
from trajectories.record.events import TextRef, TrialStarted
from trajectories.record.identity import configuration_hash, identity_in, identity_of
from trajectories.record.interventions import mode_of


class Configuration(BaseModel):
    """A line of the resolved grid. `first` is event 0 of its trials, before a trial has its name."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    id: str
    """Hash of the configuration, as in the identity of its trials."""
    arm: str
    """Name of the arm."""
    stem: str
    """Beginning of the names of its trials: task, model and the first digits of the hash."""
    first: TrialStarted
    """Event 0 of its trials, with the number 1 and without name and identity."""
    options: Json = Field(default_factory=dict)
    """Options of `agent solve` that event 0 does not hold, for example `evaluate`, and those about the expert."""
    inputs: tuple[TextRef, ...] = ()
    """Contents in `.inputs` that a worker needs, by name and sha256."""
    cost_bound_usd: float | None = None
    """Largest cost of one unit, in US dollars, apart from its last call; None if nothing bounds it."""

    def trial(self, attempt: int) -> str:
        """Return the name of the first trial of a unit."""
        return f"{self.stem}.{attempt}"

    def unit(self, attempt: int) -> str:
        """Return the identity of a unit, which is that of its first trial."""
        return self.first_event(attempt).identity

    def units(self, attempts: int) -> list[str]:
        """Return the identities of the units of so many attempts; much quicker than one by one."""
        configuration = configuration_hash(self.first)
        return [identity_in(configuration, attempt, self.first.turn) for attempt in range(1, attempts + 1)]

    def first_event(self, attempt: int) -> TrialStarted:
        """Return event 0 of the first trial of a unit."""
        name = self.trial(attempt)
        chain = self.first.chain and self.first.chain.model_copy(update={"first": name})
        first = self.first.model_copy(update={"trial": name, "attempt": attempt, "chain": chain})
        mode = mode_of(chain=first.self_corrects, plan=first.plan is not None, guidance=first.guidance is not None)
        return first.model_copy(update={"mode": mode, "identity": identity_of(first)})

    @classmethod
    def id_of(cls, first: TrialStarted) -> str:
        """Return the hash of the configuration of an event 0."""
        return configuration_hash(first)
