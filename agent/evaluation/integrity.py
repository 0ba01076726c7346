"""`agent analyze --integrity`: findings by rule and, with judges, a panel of them for each trial that has ended.

A later command shows the recorded panels without asking again.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from agent.roles.judges import Judges
from agent.roles.panel import NotJudged, ask_panel
from trajectories.analysis.aggregate import Unreadable
from trajectories.analysis.extras import MissingExtra
from trajectories.analysis.integrity.report import IntegrityAnalysis, TrialIntegrity, agreement, integrity_of
from trajectories.errors import RecordError, TrialInUse
from trajectories.reading.runs import directories_named
from trajectories.writing.derived import write_conveniences

_ONLY_RULES = (
    "only rules were applied: name --judge-model MODEL to ask a panel of model judges as well (it costs money)"
)


def analyze_integrity(names: Sequence[str], runs: Path, judges: Judges | None) -> tuple[IntegrityAnalysis, bool]:
    """Return findings and panels of the named trials, and True if the user interrupted the judging.

    A trial that has not ended is not judged, and a note tells that.

    Raises: RecordError for a named trial that cannot be read, or if none of a batch can be; MissingExtra.
    """
    directories, of_batches = directories_named(names, runs)
    notes: list[str] = []
    panels, interrupted = 0, False
    trials: list[TrialIntegrity] = []
    unreadable: list[Unreadable] = []
    for directory in directories:
        try:
            integrity = integrity_of(directory)
            if judges is not None and not interrupted:
                try:
                    interrupted = ask_panel(directory, integrity, judges)
                    panels += 1
                    write_conveniences(directory)
                    integrity = integrity_of(directory)
                except (NotJudged, TrialInUse) as reason:
                    notes.append(f"{directory.name} was not judged: {reason}")
            trials.append(integrity)
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
        judged_now=panels,
        spent_usd=round(judges.budget.spent_usd, 6) if judges else 0.0,
        notes=[*notes, *_remarks(judges, interrupted)],
    )
    return analysis, interrupted


def _remarks(judges: Judges | None, interrupted: bool) -> list[str]:
    if judges is None:
        return [_ONLY_RULES]
    notes: list[str] = []
    budget = judges.budget
    if budget.limit_usd is not None and budget.is_spent:
        notes.append(f"the judges' cost limit of ${budget.limit_usd:g} was reached: no further request was made")
    if budget.unpriced:
        notes.append(f"the cost of {budget.unpriced} requests is unknown; in a limit they count as nothing")
    if interrupted:
        notes.append("interrupted: the votes that had come are recorded")
    return notes
