"""The record of trials: its vocabulary, writing, reading, and what is derived from it.

At the bottom of the house: any package may import it, it imports none of them and knows no model,
container or provider. Public names are exported lazily; the rest is private to the package.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from trajectories.catalog import find_trial, trial_directories
    from trajectories.errors import RecordError
    from trajectories.events import Event
    from trajectories.exits import Exit
    from trajectories.reader import read_events
    from trajectories.recorder import Recorder
    from trajectories.summary import Summary, summarize
    from trajectories.usage import Costs, Usage
    from trajectories.verdict import Case, Verdict

_HOME = {
    "Case": "verdict",
    "Costs": "usage",
    "Event": "events",
    "Exit": "exits",
    "RecordError": "errors",
    "Recorder": "recorder",
    "Summary": "summary",
    "Usage": "usage",
    "Verdict": "verdict",
    "find_trial": "catalog",
    "read_events": "reader",
    "summarize": "summary",
    "trial_directories": "catalog",
}
__all__ = [
    "Case",
    "Costs",
    "Event",
    "Exit",
    "RecordError",
    "Recorder",
    "Summary",
    "Usage",
    "Verdict",
    "find_trial",
    "read_events",
    "summarize",
    "trial_directories",
]


def __getattr__(name: str) -> object:
    if name in _HOME:
        return getattr(importlib.import_module(f"trajectories.{_HOME[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
