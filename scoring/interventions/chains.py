"""Chains of turns: a turn is not an attempt of its own. A chain is one attempt, whose result is its last turn's.

Costs, tokens, time and effort of a turn are its own in the record. Those of the state at a turn are the sums of all
turns up to it, and unknown if one of them is missing or unknown.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from operator import attrgetter
from typing import Any

from scoring.rows import TrialRow
from scoring.statistics.sums import known_sum
from trajectories.record.usage import Usage

_SUMS = (
    "cost_usd",
    "billed_usd",
    "computed_usd",
    "list_usd",
    "agentmeter_usd",
    "wall_s",
    "working_s",
    "superseded_usd",
)
_COUNTS = ("steps", "commands", "hints", "failed_calls", "unmetered_calls", "superseded")
_OF_EXPERT = ("questions", "given", "refusals", "expert_usd")


@dataclass(frozen=True)
class Attempt:
    """One attempt at a task: a trial, or a chain of turns."""

    by_turn: dict[int, TrialRow]
    """Trials by their turn, in order; a trial without one is turn 1."""

    @property
    def turns(self) -> tuple[TrialRow, ...]:
        """Trials of the attempt in the order of their turns."""
        return tuple(self.by_turn.values())

    @property
    def is_chain(self) -> bool:
        """True if the attempt is a chain of turns."""
        return any(row.turn is not None for row in self.turns)

    @property
    def last(self) -> TrialRow:
        """Trial of the last turn that there is."""
        return self.turns[-1]

    @property
    def is_whole(self) -> bool:
        """True unless turns are missing at the end: the chain has its number of turns, or was to stop when passed."""
        facts = self.last.interventions
        if facts.chain_result is not None:
            return bool(facts.ends_chain)
        return facts.turns is None or max(self.by_turn) >= facts.turns or stops_here(self.last)

    @cached_property
    def result(self) -> TrialRow:
        """The last turn with the sums of all turns; not finished if turns are missing at the end."""
        if not self.is_chain:
            return self.last
        row = state_at(self, max(self.by_turn))
        return row if self.is_whole or not row.completed else replace(row, exit_reason=None, exit_cause=None)


def attempts_of(rows: Iterable[TrialRow]) -> list[Attempt]:
    """Return the attempts that these trials are, in the order of their first trials."""
    attempts: dict[object, list[dict[int, TrialRow]]] = {}
    for row in rows:
        key: object = row.directory
        if row.turn is not None:
            key = (row.setup, row.task, row.directory.rpartition("/")[0], row.attempt, row.interventions.chain_first)
        of_key = attempts.setdefault(key, [])
        turn = row.turn or 1
        by_turn = next((by_turn for by_turn in of_key if turn not in by_turn), None)
        if by_turn is None:  # also for a second trial that claims the same turn, which must not vanish
            of_key.append(by_turn := {})
        by_turn[turn] = row
    return [Attempt(dict(sorted(by_turn.items()))) for of_key in attempts.values() for by_turn in of_key]


def results(rows: Sequence[TrialRow]) -> list[TrialRow]:
    """Return one row for each attempt: a trial as it is, a chain as its last turn with the sums of all turns."""
    if all(row.turn is None for row in rows):
        return list(rows)
    return [attempt.result for attempt in attempts_of(rows)]


def of_benchmark(rows: Iterable[TrialRow]) -> list[TrialRow]:
    """Return the trials that count in a benchmark's own tables: no turn after the first, since feedback is not part of
    its protocol, and no trial whose feedback may show hidden tests."""
    return [row for row in rows if row.turn in (None, 1) and not row.interventions.tests_revealed]


def state_at(attempt: Attempt, turn: int) -> TrialRow:
    """Return the trial of a turn with the sums of all turns up to it; unknown if one of these is missing."""
    row = attempt.by_turn[turn]
    if turn == 1:
        return row
    known = [each for number, each in attempt.by_turn.items() if number <= turn]
    missing = len(known) < turn
    sums: dict[str, Any] = {name: None if missing else known_sum(map(attrgetter(name), known)) for name in _SUMS}
    counts: dict[str, Any] = {name: sum(map(attrgetter(name), known)) for name in _COUNTS}
    counts["unmetered_calls"] += missing  # makes the tokens unknown
    facts: dict[str, Any] = {
        name: known_sum(getattr(each.interventions, name) for each in known) for name in _OF_EXPERT
    }
    return replace(
        row,
        **sums,
        **counts,
        usage=Usage.sum(each.usage for each in known),
        interventions=replace(row.interventions, **facts),
        started=known[0].started,
        **_flags(known),
    )


def with_flags_carried_on(rows: Sequence[TrialRow]) -> list[TrialRow]:
    """Return the rows, each turn also flagged by the turns before it, since it goes on in their workspace."""
    if all(row.turn is None for row in rows) or not any(row.flagged for row in rows):
        return list(rows)
    flags: dict[str, dict[str, Any]] = {}
    for attempt in attempts_of(rows):
        for place, row in enumerate(attempt.turns):
            flags[row.directory] = _flags(attempt.turns[: place + 1])
    return [replace(row, **flags.get(row.directory, {})) for row in rows]


def stops_here(row: TrialRow) -> bool:
    """Return True for a turn after which no other follows, because it passed and the chain was to stop then."""
    return row.interventions.until == "passed" and row.judged and bool(row.passed)


def _flags(rows: Sequence[TrialRow]) -> dict[str, Any]:
    known = [row.flagged for row in rows if row.flagged is not None]
    kinds = {kind: None for row in rows for kind in (row.flagged_by or "").split("+") if kind}
    return {"flagged": any(known) if known else None, "flagged_by": "+".join(kinds) or None}
