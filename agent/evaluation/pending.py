"""Trials that still need an evaluation: their work is over, and no verdict is a score.

Of a batch with a grid these are those of its units, so that no trial that a rerun replaced is among them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from trajectories.batches.reader import read_batch
from trajectories.batches.results import results_of
from trajectories.reading.runs import listed
from trajectories.record.layout import BatchFolder, TrialFolder


@dataclass
class Pending:
    """Trials that need an evaluation, and the number of the others by what they are."""

    trials: list[Path] = field(default_factory=list)
    scored: int = 0
    not_over: int = 0
    """Trials or units that have not come to their own end, so they are not evaluated."""
    unreadable: list[str] = field(default_factory=list)
    """Reasons for which records cannot be read."""


def is_folder_of_trials(folder: Path) -> bool:
    """Return True for a batch, or another folder that holds trials and is not one itself."""
    if TrialFolder(folder).is_trial() or not folder.is_dir():
        return False
    return BatchFolder(folder).is_batch() or any(_trials_in(folder))


def pending_in(folder: Path) -> Pending:
    """Return the trials of a folder that need an evaluation.

    Raises: RecordError if a file of a batch is damaged.
    """
    pending = Pending()
    if BatchFolder(folder).is_batch():
        for result in results_of(read_batch(folder).units):
            if result.problem:
                pending.unreadable.append(result.problem)
            elif not result.work_is_over:
                pending.not_over += 1
            elif result.passed is None:
                pending.trials.append(folder / result.trial)
            else:
                pending.scored += 1
        return pending
    for trial in sorted(_trials_in(folder)):
        _sort_in(pending, trial)
    return pending


def needs_evaluation(trial: Path) -> bool:
    """Return True if the work of a trial is over and it has no score, as its record is now."""
    pending = Pending()
    _sort_in(pending, trial)
    return bool(pending.trials)


def _sort_in(pending: Pending, trial: Path) -> None:
    listing = listed(trial)
    summary = listing.summary
    if summary is None:
        pending.unreadable.append(listing.problem)
    elif summary.exit is None or summary.exit.reason not in ("agent", "limit"):
        pending.not_over += 1
    elif summary.verdict is None or summary.verdict.status != "scored":
        pending.trials.append(trial)
    else:
        pending.scored += 1


def _trials_in(folder: Path) -> Iterator[Path]:
    return (entry for entry in folder.glob("*") if TrialFolder(entry).is_trial())
