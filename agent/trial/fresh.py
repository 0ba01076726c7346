"""A trial from its beginning: a new environment, the task's own files, the opening of the prompt."""

from __future__ import annotations

from dataclasses import dataclass

from agent.trial.order import Order
from agent.trial.start import Opening
from agent.trial.workplace import Lease, Workplace, lease_for
from environments.reporting import Reporter
from trajectories.record.events import BaseEvent, TrialStarted


@dataclass(frozen=True)
class Fresh:
    """Implements `Start` for a trial that nothing came before."""

    steps: int = 0
    snapshot: int | None = None
    evaluations: int = 0

    def first_event(self, order: Order) -> TrialStarted:
        """See `Start`."""
        return order.trial_started()

    def inputs(self) -> tuple[bytes, ...]:
        """See `Start`."""
        return ()

    def environment(self, order: Order, trial: str, reporter: Reporter | None) -> Lease:
        """See `Start`."""
        return lease_for(order, trial, reporter)

    def restore(self, place: Workplace) -> tuple[str, ...]:
        """See `Start`; the task's files are there already."""
        return ()

    def catch_up(self, place: Workplace, lost: tuple[str, ...]) -> tuple[BaseEvent, ...]:
        """See `Start`; there is no history."""
        return ()

    def opening(self, place: Workplace, lost: tuple[str, ...]) -> Opening:
        """See `Start`."""
        return Opening(messages=tuple(place.order.opening(place.started)))
