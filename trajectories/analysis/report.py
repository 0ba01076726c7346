"""The analysis of one trial as `agent analyze --json` prints it. An unknown figure is None, never 0."""

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
    """Actions whose script is not well-formed bash; they count as `other`."""


class Turns(BaseModel):
    """The steps by class. A turn has the class with the highest priority among its actions."""

    total: int
    by_class: dict[ActionClass, int]
    without_action: int
    sequence: list[ActionClass | None]
    """Class of each step in order; None for a step without an action."""


class LargestStep(BaseModel):
    """The step that wrote the most code that is still there at the end."""

    step: int
    lines: int
    share: float
    """Share of all lines that the trial wrote and that are there at the end, in [0, 1]."""


class CodeGrowth(BaseModel):
    """Lines of code, without blank ones, over the trial's progress."""

    initial_lines: int
    final_lines: int
    surviving_lines: int
    """Lines that were written in the trial and are there at the end."""
    written_lines: int
    """Lines that were written in the trial, including those that it removed again."""
    largest_step: LargestStep | None
    """None if the trial left no line of its own."""
    curve: list[int]
    """Lines of code at 0, 1, ... 100 % of the steps."""
    written_by_step: dict[int, int]
    """Number of lines that each step wrote; steps without any are left out."""
    unread: int
    """Number of contents of source files that could not be read; the figures above do not count them."""


class FileCounts(BaseModel):
    """Distinct regular files whose content changed after the initial state; one file may count in all three."""

    created: int
    modified: int
    deleted: int


class TrialAnalysis(BaseModel):
    """The analysis of one trial."""

    trial: str
    """Directory of the trial."""
    task: str
    model: str
    exit: str | None
    """Cause of the exit; None while the trial runs or after a crash."""
    steps: int
    actions: Actions
    turns: Turns
    growth: CodeGrowth | None
    """None if the record has no snapshots."""
    files: FileCounts | None
    """None if the record has no snapshots."""
    structure: Structure | None
    """None if there are neither snapshots nor an exported workspace."""
    repetitions: list[Repetition]
    repeated_actions: int
    """Actions that belong to a repetition, without the first action of each."""
    observations: ObservationCosts
    outcomes: Outcomes
    notes: list[str] = Field(default_factory=list)
    """Parts that could not be analyzed, and the reasons."""
