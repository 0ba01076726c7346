"""The result of each unit of a batch, from its records alone: how far it came, what it scored, and what it cost.

Trials that another one replaced do not count, but everything that they cost does. A trial whose `trial.json` fits to
its record and that has come to its own end is not read further, so that a batch of 10,000 finished trials is read
quickly; any other record is read as a whole.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, NamedTuple

from pydantic import BaseModel

from trajectories.batches.memory import without_collection
from trajectories.batches.reader import Unit
from trajectories.errors import RecordError
from trajectories.reading.interventions.progress import TurnScore, next_part
from trajectories.reading.interventions.stages import StageResult, together
from trajectories.reading.live import is_live
from trajectories.reading.reader import has_begun, read_events
from trajectories.reading.runs import stored_summary
from trajectories.reading.summary import ExitSummary, Summary, summarize
from trajectories.reading.totals.spending import OpenCall, Spending
from trajectories.record.events import Chain, Event, Exited, Resumed, Snapshot
from trajectories.record.layout import name_of_turn

State = Literal["planned", "running", "interrupted", "failed", "waiting", "unevaluated", "finished"]
"""States of a unit. `planned`: no record has begun. `running`: a process of this machine writes the record.
`interrupted`: it was ended by the user or the loss of its worker, or is between two turns. `failed`: infrastructure
ended it, or its record cannot be read. `waiting`: the budget ended it. `unevaluated`: the work is over, and has no
verdict. `finished`: the work is over and evaluated."""

UNREADABLE = "record_unreadable"
"""Cause of a unit that failed because a record of it cannot be read."""
_FAILED: State = "failed"
_OWN_ENDS = ("agent", "limit")
"""Reasons of exits with which the work of a trial is over."""


class OpenCallOf(NamedTuple):
    """A call whose cost is unknown, with the name of the trial that made it."""

    trial: str
    call: OpenCall


@dataclass(frozen=True, kw_only=True, slots=True)
class UnitResult:
    """The result of one unit so far. Costs are those of all its records, replaced ones included."""

    unit: Unit
    state: State
    cause: str = ""
    """Cause of the last exit; empty if there is none."""
    detail: str = ""
    """Detail of that exit, or the reason for which a record cannot be read."""
    trial: str
    """Name of the folder in which the work would go on: of a chain, that of the last turn that has begun."""
    has_snapshot: bool = True
    """False if this trial has no snapshot to resume from. True for a finished one, whose events are not read."""
    turns: int = 0
    """Number of turns that have begun; 1 for a trial without a chain."""
    evaluated: bool = False
    """True if the last of them has a verdict; in a chain, a score."""
    passed: bool | None = None
    """True if the task is solved after the last turn, or all its stages passed. None without a score."""
    quality: float | None = None
    steps: int = 0
    """Number of steps of the trials that count."""
    wall_s: float = 0.0
    """Time of the trials that count, without pauses."""
    spending: Spending = field(default_factory=Spending)
    """Costs of all records of the unit."""
    open_calls: tuple[OpenCallOf, ...] = ()
    """Calls of all records whose cost is unknown, though they may have been billed."""
    problem: str = ""
    """Reason for which a record cannot be read, so that its costs are missing here."""

    @property
    def work_is_over(self) -> bool:
        """True if nothing but an evaluation can be missing."""
        return self.state in ("unevaluated", "finished")

    @property
    def kept_usd(self) -> float:
        """Sum of the reservations of the open calls."""
        return sum(call.reserved_usd or 0.0 for _, call in self.open_calls)

    @property
    def kept_tokens(self) -> int:
        """Sum of the tokens that are reserved for the open calls."""
        return sum(call.reserved_tokens or 0 for _, call in self.open_calls)


class _Verdict(BaseModel):
    status: str
    passed: bool | None
    quality: float | None
    metrics: dict[str, float]


class _Record(BaseModel):
    """Facts of one record: a part of `trial.json`. A file that lacks a field is not used."""

    exit: ExitSummary | None
    """The last exit, unless the trial continued after it."""
    steps: int
    wall_s: float | None
    spending: Spending
    verdict: _Verdict | None
    events_bytes: int = 0
    has_snapshot: bool = True
    """False if the events were read, and have no snapshot."""

    @property
    def ended(self) -> bool:
        """True if the agent or a limit ended the trial."""
        return self.exit is not None and self.exit.reason in _OWN_ENDS

    @property
    def score(self) -> StageResult | None:
        """The score; None without one."""
        verdict = self.verdict
        if verdict is None or verdict.status != "scored":
            return None
        return StageResult(bool(verdict.passed), verdict.quality or 0.0, verdict.metrics)


def results_of(units: Iterable[Unit]) -> list[UnitResult]:
    """Return the result of each unit."""
    with without_collection():
        return [result_of(unit) for unit in units]


def result_of(unit: Unit) -> UnitResult:
    """Return the result of a unit from its records. A record that cannot be read makes it a failed one."""
    records: dict[str, _Record] = {}
    problems: dict[str, str] = {}
    for name in unit.folders:
        try:
            record = _record(f"{unit.batch}/{name}")
        except RecordError as error:
            problems[name] = str(error)
        except OSError as error:
            problems[name] = f"{unit.batch / name}: cannot be read ({error.strerror})"
        else:
            if record is not None:
                records[name] = record
    chain = unit.configuration.first.chain
    names = [unit.current]
    while chain is not None and (name := name_of_turn(unit.current, len(names) + 1)) in records.keys() | problems:
        names.append(name)
    unreadable = next((name for name in names if name in problems), None) if problems else None
    turns = [records[name] for name in names if name in records]
    last = turns[-1] if turns and unreadable is None else None
    if unreadable is not None:
        state, cause, detail = _FAILED, UNREADABLE, problems[unreadable]
    elif last is None:
        state, cause, detail = _not_begun(unit)
    else:
        state, cause, detail = _state(chain, turns), "", ""
        if last.exit is not None:
            cause, detail = last.exit.cause, last.exit.detail
    if state != "finished" and (is_live(unit.batch / names[0]) or is_live(unit.batch / names[-1])):
        state = "running"
    score = None if last is None else _score(chain, turns)
    return UnitResult(
        unit=unit,
        state=state,
        cause=cause,
        detail=detail,
        trial=unreadable or names[-1],
        has_snapshot=last is not None and last.has_snapshot,
        turns=len(turns),
        evaluated=last is not None and (last.verdict if chain is None else last.score) is not None,
        passed=None if score is None else score.passed,
        quality=None if score is None else score.quality,
        steps=sum([turn.steps for turn in turns]),
        wall_s=sum([turn.wall_s or 0.0 for turn in turns]),
        spending=Spending.sum([record.spending for record in records.values()]),
        open_calls=tuple([OpenCallOf(name, call) for name, record in records.items() for call in record.spending.open]),
        problem="; ".join(problems.values()),
    )


def _not_begun(unit: Unit) -> tuple[State, str, str]:
    """Return the state of a unit without a record, with cause and detail: a start may have failed, as the journal
    tells."""
    last = unit.last
    return (_FAILED, last.cause, last.detail) if last is not None and last.status == "failed" else ("planned", "", "")


def _state(chain: Chain | None, turns: list[_Record]) -> State:
    last = turns[-1]
    if not last.ended:
        reason, cause = (None, "") if last.exit is None else (last.exit.reason, last.exit.cause)
        if reason == "infrastructure":
            return "failed"
        return "waiting" if cause == "budget" else "interrupted"
    if chain is None:
        return "finished" if last.verdict is not None else "unevaluated"
    score = None if last.score is None else TurnScore(last.score.passed, last.score.metrics)
    part = next_part(chain, len(turns), ended=True, score=score)
    if part is None:
        return "finished"
    return "unevaluated" if part == "evaluation" else "interrupted"


def _score(chain: Chain | None, turns: list[_Record]) -> StageResult | None:
    """Return the score after the last turn, or of all stages together."""
    if chain is None or chain.result is None:
        return turns[-1].score
    return together([turn.score for turn in turns if turn.score is not None], chain.result, chain.turns)


def _record(path: str) -> _Record | None:
    """Return the facts of a record; None if it has not begun.

    Raises: RecordError, OSError if it cannot be read.
    """
    stored = stored_summary(path, _Record)
    if stored is not None and stored.ended:
        return stored
    directory = Path(path)
    if not has_begun(directory):
        return None
    watch = _Watch()
    return watch.record(summarize(directory, watch.passing(read_events(directory))))


class _Watch:
    """Notes what a summary does not tell: snapshots, and exits after which the trial continued."""

    def __init__(self) -> None:
        self._has_snapshot = False
        self._over = False
        """True once the agent or a limit has ended the trial: only its evaluation is continued after that."""
        self._continued = False

    def passing(self, events: Iterable[Event]) -> Iterator[Event]:
        """Yield the events."""
        for event in events:
            match event:
                case Snapshot():
                    self._has_snapshot = True
                case Exited():
                    self._over, self._continued = event.exit.reason in _OWN_ENDS, False
                case Resumed() if not self._over:
                    self._continued = True
            yield event

    def record(self, summary: Summary) -> _Record:
        """Return the facts of the record whose events have passed."""
        return _Record(
            exit=None if self._continued else summary.exit,
            steps=summary.steps,
            wall_s=summary.wall_s,
            spending=summary.spending,
            verdict=None if summary.verdict is None else _Verdict(**summary.verdict.model_dump()),
            has_snapshot=self._has_snapshot,
        )
