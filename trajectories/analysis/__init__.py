"""Figures about a trial: classes of actions, growth and shape of the code, repetitions, costs of observations.

These are pure functions over a trial's events and the contents that the events name; they need no model, container or
network. The package imports only `trajectories` and pygments, and the packages of the extra `analysis` when they are
needed (`extras`).
"""

from typing import TYPE_CHECKING

import lazy_loader

if TYPE_CHECKING:
    from trajectories.analysis.aggregate import Analysis as Analysis, analyze_trials as analyze_trials
    from trajectories.analysis.report import TrialAnalysis as TrialAnalysis
    from trajectories.analysis.trial import analyze_events as analyze_events, analyze_trial as analyze_trial

__getattr__, __dir__, __all__ = lazy_loader.attach(
    __name__,
    submod_attrs={
        "aggregate": ["Analysis", "analyze_trials"],
        "report": ["TrialAnalysis"],
        "trial": ["analyze_events", "analyze_trial"],
    },
)
