"""The record of trials: its format, writing and reading it, and everything that is derived from it.

Every package may import this one. It imports none of them, and knows no model, container or provider. The names below
are public and loaded on first use; everything else is private to the package.
"""

from typing import TYPE_CHECKING

import lazy_loader

if TYPE_CHECKING:
    from trajectories.errors import RecordError as RecordError
    from trajectories.reading.reader import read_events as read_events
    from trajectories.reading.runs import find_trial as find_trial, trial_directories as trial_directories
    from trajectories.reading.steps.index import StepIndex as StepIndex, read_index as read_index
    from trajectories.reading.steps.rows import StepRow as StepRow
    from trajectories.reading.summary import Summary as Summary, summarize as summarize
    from trajectories.record.events import Event as Event
    from trajectories.record.exits import Exit as Exit
    from trajectories.record.usage import Costs as Costs, Usage as Usage
    from trajectories.record.verdict import Case as Case, Verdict as Verdict
    from trajectories.writing.recorder import Recorder as Recorder

__getattr__, __dir__, __all__ = lazy_loader.attach(
    __name__,
    submod_attrs={
        "errors": ["RecordError"],
        "reading.reader": ["read_events"],
        "reading.runs": ["find_trial", "trial_directories"],
        "reading.steps.index": ["StepIndex", "read_index"],
        "reading.steps.rows": ["StepRow"],
        "reading.summary": ["Summary", "summarize"],
        "record.events": ["Event"],
        "record.exits": ["Exit"],
        "record.usage": ["Costs", "Usage"],
        "record.verdict": ["Case", "Verdict"],
        "writing.recorder": ["Recorder"],
    },
)
