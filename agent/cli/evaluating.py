"""`agent evaluate` for several trials, or for the trials of batches that have no score."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

if TYPE_CHECKING:
    from agent.evaluation.several import Done, Settings


@dataclass
class Named:
    """Trials that a caller named, alone or by their batch."""

    trials: list[Path] = field(default_factory=list)
    again: set[Path] = field(default_factory=set)
    """Trials that were named themselves: these are evaluated even if they have a score."""
    at_once: int = 1
    """Number of evaluations at once that the batches were made with."""
    notes: list[str] = field(default_factory=list)
    unreadable: list[str] = field(default_factory=list)


def folder_named(name: str, runs: Path, *, has_task: bool) -> Path | None:
    """Return the folder of trials that this names; None for a trial, a workspace or an archive.

    With a task, a directory that is named by its path and has no files of a batch is a workspace, whatever is in it.
    """
    from agent.evaluation.pending import is_folder_of_trials
    from trajectories.record.layout import BatchFolder

    folder = Path(name) if Path(name).exists() else runs / name
    may_be_workspace = has_task and folder == Path(name)
    if name and (BatchFolder(folder).is_batch() or (not may_be_workspace and is_folder_of_trials(folder))):
        return folder
    return None


def named(names: Sequence[str], runs: Path, *, has_task: bool) -> Named:
    """Return the trials to evaluate.

    Raises: UserError, RecordError if a name is neither a trial nor a batch.
    """
    from agent.errors import UserError
    from agent.evaluation.pending import pending_in
    from trajectories.batches.reader import read_batch
    from trajectories.reading.runs import find_trial
    from trajectories.record.layout import BatchFolder, TrialFolder
    from trajectories.record.texts.text import quantity

    targets = Named()
    for name in names:
        folder = folder_named(name, runs, has_task=has_task)
        if folder is None:
            if (Path(name).is_dir() and not TrialFolder(Path(name)).is_trial()) or Path(name).is_file():
                raise UserError(f"{name} is neither a trial nor a batch; evaluate a workspace by itself, with --task")
            targets.trials.append(trial := find_trial(name, runs))
            targets.again.add(trial)
            continue
        if BatchFolder(folder).is_batch():
            targets.at_once = max(targets.at_once, read_batch(folder).opened.evaluations)
        pending = pending_in(folder)
        targets.trials += pending.trials
        targets.unreadable += pending.unreadable
        counts = [f"{quantity(len(pending.trials), 'trial')} to evaluate", f"{pending.scored} scored already"]
        if pending.not_over:
            counts.append(f"{pending.not_over} not come to an end")
        targets.notes.append(f"{folder}: {', '.join(counts)}")
    targets.trials = list(dict.fromkeys(targets.trials))
    return targets


def evaluate_named(targets: Named, settings: Settings, say: Callable[[str], None]) -> tuple[dict[str, Any], int]:
    """Evaluate the trials; return what `--json` prints, and the exit status: 1 if any has no score then."""
    from agent.evaluation.several import evaluate_several

    for line in (*targets.notes, *(f"unreadable, left out: {reason}" for reason in targets.unreadable)):
        say(line)
    ends = evaluate_several(targets.trials, settings, say)
    failed = [done for done in ends if not _is_well(done)]
    content = {
        "evaluations": [done.evaluation.model_dump(mode="json") for done in ends if done.evaluation is not None],
        "skipped": [_problem(done) for done in ends if done.skipped],
        "problems": [
            *(_problem(done) for done in ends if done.evaluation is None and not done.skipped),
            *({"trial": None, "problem": reason} for reason in targets.unreadable),
        ],
    }
    return content, int(bool(failed or targets.unreadable))


def print_ends(content: dict[str, Any]) -> None:
    """Print the numbers of evaluations in one line."""
    verdicts = [evaluation["verdict"] for evaluation in content["evaluations"]]
    scored = [verdict for verdict in verdicts if verdict is not None and verdict["status"] == "scored"]
    passed = sum(bool(verdict["passed"]) for verdict in scored)
    words = [f"{len(scored)} evaluated, {passed} of them passed"]
    if failed := len(verdicts) - len(scored) + len(content["problems"]):
        words.append(f"{failed} without a score")
    if content["skipped"]:
        words.append(f"{len(content['skipped'])} skipped")
    typer.echo(", ".join(words))


def _is_well(done: Done) -> bool:
    if done.evaluation is None:
        return done.skipped
    return done.evaluation.verdict is not None and done.evaluation.verdict.status == "scored"


def _problem(done: Done) -> dict[str, str]:
    return {"trial": str(done.trial), "problem": done.problem}
