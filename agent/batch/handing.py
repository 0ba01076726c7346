"""The events and the message with which a unit is handed to a worker."""

from __future__ import annotations

from agent.batch.messages import Work
from agent.batch.pool import Worker
from agent.batch.units import UnitState
from trajectories.batches.events import Started, Superseded
from trajectories.record.layout import name_of_rerun


def hand_over(unit: UnitState, worker: Worker, *, evaluate: bool) -> tuple[list[Superseded | Started], Work]:
    """Choose the folder of a unit that is handed out; return the events of that, and the message to its worker."""
    how, counted = unit.how, unit.next.counted
    before = name_of_rerun(unit.first_trial, unit.rerun)
    unit.rerun += how == "rerun"
    unit.trial = name_of_rerun(unit.first_trial, unit.rerun)
    unit.counted += counted
    events: list[Superseded | Started] = []
    if how == "rerun":
        cause = unit.next.cause or "interrupted"
        events.append(Superseded(unit=unit.identity, trial=before, by=unit.trial, cause=cause))
    started = Started(
        unit=unit.identity, trial=unit.trial, how=how, worker=worker.name, node=worker.machine, counted=counted
    )
    work = Work(
        unit=unit.identity,
        configuration=unit.configuration,
        attempt=unit.attempt,
        trial=unit.trial,
        rerun=unit.rerun,
        replaces=before if how == "rerun" else None,
        how=how,
        evaluate=evaluate,
    )
    return [*events, started], work
