"""Turns records into figures: prices, costs, scores. Pure functions that import only `trajectories`.

Public names are exported lazily. numpy, pandas, pyarrow and matplotlib are the extra `scoring`; they are imported only
by the functions that need them.
"""

from typing import TYPE_CHECKING

import lazy_loader

if TYPE_CHECKING:
    from scoring.agentmeter.profiles import AGENTMETER as AGENTMETER, Profile as Profile
    from scoring.errors import ScoringError as ScoringError
    from scoring.output.frame import trials_frame as trials_frame
    from scoring.report import Report as Report
    from scoring.rows import TrialRow as TrialRow, read_rows as read_rows, row_of as row_of

__getattr__, __dir__, __all__ = lazy_loader.attach(
    __name__,
    submod_attrs={
        "agentmeter.profiles": ["AGENTMETER", "Profile"],
        "errors": ["ScoringError"],
        "output.frame": ["trials_frame"],
        "report": ["Report"],
        "rows": ["TrialRow", "read_rows", "row_of"],
    },
)
