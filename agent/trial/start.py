"""The contract of a start: with what a trial begins.

A fresh trial, a fork and a resumed trial differ only here. Each method is called once, in the order below: the first
two by `run_new` for a new record, the others by `run_trial`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from agent.loop.instructions import Say
from agent.trial.order import Order
from agent.trial.workplace import Lease, Workplace
from environments.reporting import Reporter
from trajectories.record.events import BaseEvent, CallFinished, CallStarted, InheritedReply, Message, TrialStarted

Turn = Say | Message | CallFinished | InheritedReply
"""One turn of a parent's conversation: a message, also one that is not recorded yet, or a reply."""


@dataclass(frozen=True)
class Opening:
    """The conversation that a worker takes up after the record's history, in this order."""

    inherited: tuple[Turn, ...] = ()
    """Turns of the parent's conversation, to be copied into this record."""
    messages: tuple[Say, ...] = ()
    """Messages before the first call, also those that the history holds: taking in the history removes them."""
    lost_call: CallStarted | None = None
    """A request that left before the harness died, and has no outcome."""
    notice: Say | None = None
    """Said before the next call, after everything else that is due."""


class Start(Protocol):
    """With what a trial begins."""

    @property
    def steps(self) -> int:
        """Number of steps that the record holds already."""

    @property
    def snapshot(self) -> int | None:
        """Step of the last snapshot in the record; None if there is none yet."""

    @property
    def evaluations(self) -> int:
        """Number of evaluations that the record holds already."""

    def first_event(self, order: Order) -> TrialStarted:
        """Return event 0 of a new record; the trial's name, attempt and identity are filled in later."""

    def inputs(self) -> tuple[bytes, ...]:
        """Return inputs of its own that are kept with the trial, beside the prompt and the plan."""

    def environment(self, order: Order, trial: str, reporter: Reporter | None) -> Lease:
        """Return the environment of the trial: a new one, or one that runs and is handed over.

        `reporter` shows the progress of a pull or a build.
        """

    def restore(self, place: Workplace) -> tuple[str, ...]:
        """Bring the workspace to its first state, and return one line for each thing that is lost.

        Raises: EnvironmentFault, RecordError.
        """

    def catch_up(self, place: Workplace, lost: tuple[str, ...]) -> tuple[BaseEvent, ...]:
        """Bring the workspace from the last snapshot to the end of the record, and return the record's history.

        Called after the first state has been restored, and kept if the record had no snapshot.

        Raises: EnvironmentFault, RecordFull.
        """

    def opening(self, place: Workplace, lost: tuple[str, ...]) -> Opening:
        """Return the conversation to take up after the history; nothing is written or run."""
