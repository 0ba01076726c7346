"""Looks up what `from` names: trials, and the steps of each after which trials of the batch begin."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from agent.batch.grid.tasks import last_part
from agent.batch.spec.spec import Branches, TaskName
from agent.errors import UserError
from agent.rollout.points import parse_steps
from trajectories.errors import RecordError
from trajectories.reading.reader import first_event, read_events
from trajectories.reading.runs import find_trial
from trajectories.record.events import CallFinished, TrialStarted
from trajectories.yaml_mistakes import Mistake

AT = "--at "
"""Beginning of messages about steps."""


@dataclass(frozen=True)
class BranchOrigin:
    """A step of a trial after which trials start, and the entry of the spec that named it."""

    entry: TaskName
    parent: Path
    """Folder of the trial, as an absolute path."""
    step: int
    first: TrialStarted
    """Event 0 of the trial."""

    @property
    def id(self) -> str:
        """Name of the task."""
        return self.first.task.id

    @property
    def last_part(self) -> str:
        """The part of the task's name after the last `/`, which stands for `{task}` in names of files."""
        return last_part(self.id)

    def __str__(self) -> str:
        return f"step {self.step} of {self.parent.name}"


def find_branches(branches: Branches, runs: Path) -> tuple[list[BranchOrigin], list[Mistake]]:
    """Return the steps that `from` names, and the mistakes in its trials and steps."""
    origins: list[BranchOrigin] = []
    mistakes: list[Mistake] = []
    for number, name in enumerate(branches.trials):
        entry = TaskName(name, ("from", "trials", number))
        try:
            parent = find_trial(name, runs).absolute()
            first = first_event(parent)
            last = sum(isinstance(event, CallFinished) for event in read_events(parent))
        except (RecordError, OSError) as error:
            mistakes.append(Mistake(entry.place, str(error)))
            continue
        try:
            steps = parse_steps(branches.at, last, parent.name)
        except UserError as error:
            mistakes.append(Mistake(("from", "at"), str(error).removeprefix(AT)))
            continue
        origins += [BranchOrigin(entry, parent, step, first) for step in steps]
    return origins, mistakes
