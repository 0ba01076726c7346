"""Readings of a batch's folder for its coordinator: the units, and the records of one of them."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from agent.batch.reruns import Facts, Standing
from agent.batch.sharing.ledger import NOTHING, Amount
from agent.batch.units import Reading, UnitState
from agent.trial.gate import CallBound
from trajectories.batches.events import BatchEvent
from trajectories.batches.reader import Unit, read_batch
from trajectories.batches.results import State, UnitResult, result_of, results_of
from trajectories.record.layout import name_of_rerun, name_of_turn

_STANDING: dict[State, Standing] = {
    "planned": "none",
    "running": "running",
    "interrupted": "open",
    "failed": "infrastructure",
    "waiting": "user",
    "unevaluated": "unevaluated",
    "finished": "finished",
}


def unit_states(directory: Path, events: Iterable[BatchEvent]) -> list[UnitState]:
    """Return the units of a batch, in the order in which they were planned: as the journal and the records left them.

    `events` are those of the journal.

    Raises: RecordError.
    """
    units = read_batch(directory, events).units
    return [_unit_state(unit, result) for unit, result in zip(units, results_of(units), strict=True)]


def _unit_state(unit: Unit, result: UnitResult) -> UnitState:
    state = UnitState(unit.configuration, unit.attempt, unit.identity, unit.trial, counted=unit.counted)
    state.reading = _reading(result)
    if (last := unit.last) is not None:
        state.status, state.cause, state.detail = last.status, last.cause, last.detail
        if last.status == "waiting" and last.cause == "budget":
            state.needs = CallBound(last.needs_usd, last.needs_tokens)
    return state


def read_unit(directory: Path, unit: UnitState) -> Reading:
    """Return what the records of a unit tell now."""
    return _reading(
        result_of(
            Unit(
                batch=directory,
                identity=unit.identity,
                configuration=unit.configuration,
                attempt=unit.attempt,
                trial=unit.first_trial,
                folders=tuple(name for name in _names(directory, unit) if (directory / name).is_dir()),
            )
        )
    )


def _reading(result: UnitResult) -> Reading:
    return Reading(
        _facts(result),
        known=Amount(result.spending.usd, result.spending.usage.total),
        kept=Amount(result.kept_usd, result.kept_tokens) if result.open_calls else NOTHING,
        unpriced_calls=result.spending.unpriced + len(result.open_calls),
        steps=result.steps,
        passed=result.passed,
        rerun=result.unit.rerun,
    )


def _names(directory: Path, unit: UnitState) -> list[str]:
    """Return the names that folders of a unit may have."""
    chain = unit.configuration.first.chain
    turns = 1 if chain is None else chain.turns
    firsts = [unit.first_trial]
    while (directory / (rerun := name_of_rerun(unit.first_trial, len(firsts)))).is_dir():
        firsts.append(rerun)
    return [name_of_turn(first, turn) for first in firsts for turn in range(1, turns + 1)]


def _facts(result: UnitResult) -> Facts:
    standing = _STANDING[result.state]
    if result.state == "failed" and not result.turns and not result.problem:
        standing = "none"  # a start that failed, perhaps for a key that is there now
    elif result.state == "finished" and result.evaluated and result.passed is None:
        standing = "evaluator_failed"
    return Facts(
        standing,
        result.cause,
        result.detail,
        can_continue=result.has_snapshot or result.turns > 1,
    )
