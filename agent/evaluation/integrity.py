"""`agent analyze --integrity`: findings by rule, and where models are named a panel of them for each finished trial.

A later call shows the recorded panels without asking again.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from trajectories.analysis.aggregate import Unreadable
from trajectories.analysis.extras import MissingExtra
from trajectories.analysis.integrity.report import IntegrityAnalysis, TrialIntegrity, agreement, integrity_of
from trajectories.errors import RecordError, TrialInUse
from trajectories.reading.runs import directories_named

if TYPE_CHECKING:
    from agent.roles.judges import Bench

JUDGES = 9
_AT_ONCE = 4
"""Requests of a panel that are under way together."""
_POOL = ".pool"
_ONLY_RULES = (
    "only rules were applied: name --judge-model MODEL to ask a panel of model judges as well (it costs money)"
)


@dataclass
class _Told:
    """What one call did."""

    notes: list[str] = field(default_factory=list)
    panels: int = 0


def analyze_integrity(
    names: Sequence[str], runs: Path, bench: Bench | None, say: Callable[[str], None]
) -> tuple[IntegrityAnalysis, bool]:
    """Findings and panels of the named trials, and whether the user interrupted the judging.

    `say` is told what is going on. A trial that has not ended is not judged, and a note says so.

    Raises: RecordError for a trial that was named and cannot be read, or if none of a batch's can; MissingExtra.
    """
    directories, of_batches = directories_named(names, runs)
    from agent.roles.panel import NotJudged, sit

    told, interrupted = _Told(), False
    trials: list[TrialIntegrity] = []
    unreadable: list[Unreadable] = []
    for directory in directories:
        try:
            found = integrity_of(directory)
            if bench is not None and not interrupted:
                try:
                    interrupted = sit(directory, found, bench, say)
                    told.panels += 1
                    found = integrity_of(directory)
                except (NotJudged, TrialInUse) as why:
                    told.notes.append(f"{directory.name} was not judged: {why}")
            trials.append(found)
        except RecordError as error:
            if directory not in of_batches or isinstance(error, MissingExtra):
                raise
            unreadable.append(Unreadable(trial=str(directory), problem=str(error)))
    if not trials:
        raise RecordError(f"none of {len(unreadable)} trials can be read; the first: {unreadable[0].problem}")
    analysis = IntegrityAnalysis(
        trials=trials,
        unreadable=unreadable,
        agreement=agreement(trials),
        judged_now=told.panels,
        spent_usd=round(bench.purse.spent_usd, 6) if bench else 0.0,
        notes=_notes(bench, told, interrupted),
    )
    return analysis, interrupted


def _notes(bench: Bench | None, told: _Told, interrupted: bool) -> list[str]:
    if bench is None:
        return [_ONLY_RULES]
    notes = list(told.notes)
    purse = bench.purse
    if purse.limit_usd is not None and purse.spent_usd >= purse.limit_usd:
        notes.append(f"the judges' cost limit of ${purse.limit_usd:g} was reached: no further request was made")
    if purse.unpriced:
        notes.append(f"the cost of {purse.unpriced} requests is unknown; in a limit they count as nothing")
    if interrupted:
        notes.append("interrupted: the votes that had come are recorded")
    return notes
