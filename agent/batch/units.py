"""The units of a batch while its coordinator runs: which wait for a worker, which run where, and how they ended."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal, get_args

from agent.batch.reruns import Facts, Next
from agent.batch.sharing.ledger import NOTHING, Amount
from agent.trial.gate import CallBound
from trajectories.batches.configuration import Configuration
from trajectories.batches.events import How, Status

Phase = Literal["queued", "later", "running", "ended"]


@dataclass(frozen=True)
class Reading:
    """The records of a unit, as far as the coordinator needs them."""

    facts: Facts
    known: Amount = NOTHING
    """Known costs of all its records: turns, superseded trials, role calls."""
    kept: Amount = NOTHING
    """Reservations of its calls that may have been billed at an unknown cost."""
    unpriced_calls: int = 0
    """Number of calls whose cost is unknown."""
    steps: int = 0
    passed: bool | None = None
    """The verdict; None without one."""
    rerun: int = 0
    """Number of the rerun that counts: the last one whose record has begun."""


NOTHING_READ = Reading(Facts("none"))
_BEGIN = Next("work")


@dataclass
class UnitState:
    """One unit."""

    configuration: Configuration
    attempt: int
    identity: str
    first_trial: str
    """Name of the folder of its first trial."""
    rerun: int = 0
    """Number of the last rerun; 0 if the first trial counts."""
    counted: int = 0
    """Number of resumes and reruns after infrastructure failures."""
    phase: Phase = "queued"
    next: Next = _BEGIN
    """The work that it is queued for."""
    worker: str | None = None
    """Name of the worker that runs it."""
    trial: str = ""
    """Name of the folder that its worker works on, or worked on last."""
    began_s: float = 0.0
    """Time at which the worker was given it, on the coordinator's clock."""
    not_before_s: float = 0.0
    """Time before which it is not handed out or looked at again."""
    steps: int = 0
    doing: str = "starting"
    status: Status | None = None
    """End of the work on it, in this run or before."""
    cause: str = ""
    detail: str = ""
    reading: Reading = NOTHING_READ
    """Its records when they were last read."""
    evaluates: bool = True
    """False for a task that has no evaluation."""
    needs: CallBound | None = None
    """Bound of the call that did not fit into the budget, if it waits for that."""

    @property
    def model(self) -> str:
        """Name of its model."""
        return self.configuration.first.model.name

    @property
    def models(self) -> tuple[str, ...]:
        """Names of the models that its trials call: the agent's, and the expert's if that is one of a provider."""
        guidance = self.configuration.first.guidance
        expert = None if guidance is None else guidance.model
        return (self.model,) if expert is None else (self.model, expert.name)

    @property
    def how(self) -> How:
        """Way in which it is handed out next."""
        return self.next.how


class Roster:
    """The units by their phase, each in the order in which it came to it."""

    def __init__(self, units: Iterable[UnitState]) -> None:
        self._by_phase: dict[Phase, dict[str, UnitState]] = {phase: {} for phase in get_args(Phase)}
        for unit in units:
            self._by_phase[unit.phase][unit.identity] = unit

    def of(self, phase: Phase) -> list[UnitState]:
        """Return the units of a phase."""
        return list(self._by_phase[phase].values())

    def count(self, phase: Phase) -> int:
        """Return the number of units of a phase."""
        return len(self._by_phase[phase])

    def move(self, unit: UnitState, phase: Phase) -> None:
        """Change the phase of a unit."""
        del self._by_phase[unit.phase][unit.identity]
        unit.phase = phase
        self._by_phase[phase][unit.identity] = unit
