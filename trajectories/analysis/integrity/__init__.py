"""Whether a trial kept a clean-room benchmark's rules: findings by rule, and what panels of model judges said.

Pure functions over a trial's events and the contents they name. A model judge is a protocol here (`judge`); `agent`
brings the implementation. Rules are those of ProgramBench: the original program may be run and its documentation read;
its source, its binary's inside and its running process may not be, and it may not be handed in.
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
