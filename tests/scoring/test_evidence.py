"""The evidence that flags a trial: votes of a panel, findings by rule, tampering."""

from __future__ import annotations

import pytest

from scoring.choices import IntegrityBy
from scoring.evidence import Evidence
from trajectories.analysis.integrity.flags import RuleFlags
from trajectories.reading.panel_votes import PanelVotes
from trajectories.record.panel import KINDS, Kind

SOURCE: tuple[Kind, ...] = ("source_lookup",)


def panel(judges: int, violated: int, missing: int = 0) -> PanelVotes:
    by_kind = {kind: violated if kind == "wrapping" else 0 for kind in KINDS}
    return PanelVotes(judges=judges, valid=judges - missing, violated=violated, by_kind=by_kind)


def rules(*kinds: Kind) -> RuleFlags:
    return RuleFlags(commands=1, violated=kinds, others=0)


YES, NO, UNDECIDED = panel(9, 9), panel(9, 0), panel(9, 4, 2)


@pytest.mark.parametrize(
    ("judges", "violated", "missing", "flagged"),
    [
        (9, 5, 0, True),
        (9, 4, 0, False),
        (9, 5, 4, True),
        (9, 4, 1, None),
        (9, 3, 1, False),
        (9, 0, 9, None),
        (3, 2, 0, True),
        (3, 1, 0, False),
        (4, 2, 0, False),
        (4, 3, 0, True),
        (1, 1, 0, True),
        (2, 1, 0, False),
        (2, 1, 1, None),
    ],
)
def test_a_panel_flags_with_more_than_half_of_its_judges(
    judges: int, violated: int, missing: int, flagged: bool | None
) -> None:
    """At least 5 of 9, as in the paper; a panel of another size by the same share of the judges it was to have."""
    assert panel(judges, violated, missing).flagged is flagged


@pytest.mark.parametrize(
    ("evidence", "default", "by_panel", "by_rules", "by_any"),
    [
        (Evidence(), None, None, None, None),
        (Evidence(panel=YES), True, True, None, True),
        (Evidence(panel=NO), False, False, None, False),
        (Evidence(rules=rules(*SOURCE)), True, None, True, True),
        (Evidence(rules=rules()), False, None, False, False),
        (Evidence(panel=NO, rules=rules(*SOURCE)), False, False, True, True),
        (Evidence(panel=YES, rules=rules()), True, True, False, True),
        (Evidence(panel=UNDECIDED, rules=rules(*SOURCE)), True, None, True, True),
        (Evidence(panel=UNDECIDED, rules=rules()), False, None, False, False),
        (Evidence(panel=UNDECIDED), None, None, None, None),
        (Evidence(panel=NO, tampered=True), True, False, True, True),
        (Evidence(tampered=True), True, None, True, True),
        (Evidence(tampered=False), None, None, None, None),
    ],
)
def test_the_evidence_that_flags(
    evidence: Evidence, default: bool | None, by_panel: bool | None, by_rules: bool | None, by_any: bool | None
) -> None:
    choices = (None, IntegrityBy.PANEL, IntegrityBy.RULES, IntegrityBy.ANY)
    assert [evidence.flags(by)[0] for by in choices] == [default, by_panel, by_rules, by_any]


def test_the_kinds_are_those_of_the_evidence_that_decides() -> None:
    evidence = Evidence(panel=YES, rules=rules(*SOURCE))
    assert evidence.kinds(None) == evidence.kinds(IntegrityBy.PANEL) == {"wrapping"}
    assert evidence.kinds(IntegrityBy.RULES) == {"source_lookup"}
    assert evidence.kinds(IntegrityBy.ANY) == {"wrapping", "source_lookup"}
    assert Evidence(panel=UNDECIDED, rules=rules(*SOURCE)).kinds(None) == {"source_lookup"}
