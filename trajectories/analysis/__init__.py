"""What an agent did in a trial: classes of actions, growth and shape of the code, repetitions, costs of observations.

Pure functions over a trial's events and the contents they name: no model, container or network. Imports only
`trajectories`, pygments, and late the packages of the extra `analysis` (`extras`).
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from trajectories.analysis.aggregate import Analysis, analyze_trials
    from trajectories.analysis.report import TrialAnalysis
    from trajectories.analysis.trial import analyze_events, analyze_trial

_HOME = {
    "Analysis": "aggregate",
    "TrialAnalysis": "report",
    "analyze_events": "trial",
    "analyze_trial": "trial",
    "analyze_trials": "aggregate",
}
__all__ = ["Analysis", "TrialAnalysis", "analyze_events", "analyze_trial", "analyze_trials"]


def __getattr__(name: str) -> object:
    if name in _HOME:
        return getattr(importlib.import_module(f"trajectories.analysis.{_HOME[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
