"""Turns records into figures: prices, cost, scores. Pure functions; imports only `trajectories`.

Public names are exported lazily. numpy, pandas, pyarrow and matplotlib are the extra `scoring`; only what needs
them asks for them.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from scoring.errors import ScoringError
    from scoring.frame import trials_frame
    from scoring.profiles import AGENTMETER, Profile
    from scoring.report import Report
    from scoring.rows import TrialRow, read_rows, row_of

_HOME = {
    "AGENTMETER": "profiles",
    "Profile": "profiles",
    "Report": "report",
    "ScoringError": "errors",
    "TrialRow": "rows",
    "read_rows": "rows",
    "row_of": "rows",
    "trials_frame": "frame",
}
__all__ = ["AGENTMETER", "Profile", "Report", "ScoringError", "TrialRow", "read_rows", "row_of", "trials_frame"]


def __getattr__(name: str) -> object:
    if name in _HOME:
        return getattr(importlib.import_module(f"scoring.{_HOME[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
