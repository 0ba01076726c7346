"""Whether a trial kept a clean-room benchmark's rules: findings by rule, and what panels of model judges said.

Pure functions over a trial's events and the contents they name. A model judge is a protocol here (`judge`); `agent`
brings the implementation. Rules are those of ProgramBench: the original program may be run and its documentation read;
its source, its binary's inside and its running process may not be, and it may not be handed in.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from trajectories.analysis.integrity.agreement import Kappa, disagreement_rate, fleiss_kappa
    from trajectories.analysis.integrity.findings import Finding, Scan, scan
    from trajectories.analysis.integrity.judge import Judge, Malformed, Said, Sitting, parse_answers
    from trajectories.analysis.integrity.report import IntegrityAnalysis, TrialIntegrity, integrity_of, write_csv
    from trajectories.analysis.integrity.rules import RULES, rules_table

_HOME = {
    "IntegrityAnalysis": "report",
    "Finding": "findings",
    "Judge": "judge",
    "Kappa": "agreement",
    "Malformed": "judge",
    "RULES": "rules",
    "Said": "judge",
    "Scan": "findings",
    "Sitting": "judge",
    "TrialIntegrity": "report",
    "disagreement_rate": "agreement",
    "fleiss_kappa": "agreement",
    "integrity_of": "report",
    "parse_answers": "judge",
    "rules_table": "rules",
    "scan": "findings",
    "write_csv": "report",
}
__all__ = [
    "RULES",
    "Finding",
    "IntegrityAnalysis",
    "Judge",
    "Kappa",
    "Malformed",
    "Said",
    "Scan",
    "Sitting",
    "TrialIntegrity",
    "disagreement_rate",
    "fleiss_kappa",
    "integrity_of",
    "parse_answers",
    "rules_table",
    "scan",
    "write_csv",
]


def __getattr__(name: str) -> object:
    if name in _HOME:
        return getattr(importlib.import_module(f"{__name__}.{_HOME[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
