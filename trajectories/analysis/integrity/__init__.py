"""Violations of a clean-room benchmark's rules: findings by rule, and the votes of panels of model judges.

These are pure functions over a trial's events and the contents that the events name. A model judge is a protocol here
(`judge`); `agent` implements it. The rules are those of ProgramBench: an agent may run the original program and read
its documentation. It must not read its source, examine its binary or its running process, or submit the original.
"""

from typing import TYPE_CHECKING

import lazy_loader

if TYPE_CHECKING:
    from trajectories.analysis.integrity.agreement import (
        Kappa as Kappa,
        disagreement_rate as disagreement_rate,
        fleiss_kappa as fleiss_kappa,
    )
    from trajectories.analysis.integrity.findings import Finding as Finding, Scan as Scan, scan as scan
    from trajectories.analysis.integrity.judge import (
        Judge as Judge,
        JudgeRequest as JudgeRequest,
        JudgeResult as JudgeResult,
        MalformedAnswer as MalformedAnswer,
        parse_answers as parse_answers,
    )
    from trajectories.analysis.integrity.report import (
        IntegrityAnalysis as IntegrityAnalysis,
        TrialIntegrity as TrialIntegrity,
        integrity_of as integrity_of,
        write_csv as write_csv,
    )
    from trajectories.analysis.integrity.rules import RULES as RULES, rules_table as rules_table

__getattr__, __dir__, __all__ = lazy_loader.attach(
    __name__,
    submod_attrs={
        "agreement": ["Kappa", "disagreement_rate", "fleiss_kappa"],
        "findings": ["Finding", "Scan", "scan"],
        "judge": ["Judge", "MalformedAnswer", "JudgeResult", "JudgeRequest", "parse_answers"],
        "report": ["IntegrityAnalysis", "TrialIntegrity", "integrity_of", "write_csv"],
        "rules": ["RULES", "rules_table"],
    },
)
