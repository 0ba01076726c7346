"""What an analysis of one trial says: the shapes of `agent analyze --json`. None is "not known", never 0."""

from __future__ import annotations

from pydantic import BaseModel, Field

from trajectories.analysis.code.structure import Structure
from trajectories.analysis.commands.classes import ActionClass
from trajectories.analysis.commands.loops import Repetition
from trajectories.analysis.commands.outcomes import Outcomes
from trajectories.analysis.observations import ObservationCosts


class Actions(BaseModel):
    """The actions by class."""

    total: int
    by_class: dict[ActionClass, int]
    unparsed: int
    """Whose script is not well-formed bash; they count as `other`."""


class Turns(BaseModel):
    """The steps by class: a turn has the first class, in order of priority, of its actions."""

    total: int
    by_class: dict[ActionClass, int]
    without_action: int
    sequence: list[ActionClass | None]
    """Of each step in order; None without an action."""


class LargestStep(BaseModel):
    """The step that wrote most of the code that is there at the end."""

    step: int
    lines: int
    share: float
    """Of all lines that the trial wrote and that are there at the end, in [0, 1]."""


class CodeGrowth(BaseModel):
    """Lines of code (not blank) over the trial's progress."""

    initial_lines: int
    final_lines: int
    surviving_lines: int
    """Written in the trial and there at the end."""
    written_lines: int
    """Written in the trial, also those that it removed again."""
    largest_step: LargestStep | None
    """None if the trial left no line of its own."""
    curve: list[int]
    """Lines of code at 0, 1, ... 100 % of the steps."""
    written_by_step: dict[int, int]
    """Lines that each step wrote; steps without any are left out."""
    unread: int
    """Contents of source files that could not be looked at: these figures are without them."""


class FileCounts(BaseModel):
    """Distinct regular files whose content the trial touched, the initial state not counted; a file may be in all."""

    created: int
    modified: int
    deleted: int


class TrialAnalysis(BaseModel):
    """One trial."""

    trial: str
    """Its directory."""
    task: str
    model: str
    exit: str | None
    """The cause of the exit; None while it runs or after a crash."""
    steps: int
    actions: Actions
    turns: Turns
    growth: CodeGrowth | None
    """None without snapshots."""
    files: FileCounts | None
    """None without snapshots."""
    structure: Structure | None
    """None without snapshots and without an exported workspace."""
    repetitions: list[Repetition]
    repeated_actions: int
    """Actions that belong to a repetition, without the first of each."""
    observations: ObservationCosts
    outcomes: Outcomes
    notes: list[str] = Field(default_factory=list)
    """What could not be analysed, and why."""
