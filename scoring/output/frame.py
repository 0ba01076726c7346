"""Trials for pandas users: one row per trial. Needs pandas (the extra `scoring`)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import fields
from typing import TYPE_CHECKING, Any

from scoring.errors import ScoringError
from scoring.interventions.facts import InterventionFacts
from scoring.rows import TrialRow

if TYPE_CHECKING:
    import pandas as pd

_NESTED = ("usage", "facts", "metrics", "groups", "evidence", "interventions")
_NAMING = ("conditions", "description")
"""Fields that only the names of setups are made of."""
_INTERVENTIONS = [field for field in fields(InterventionFacts) if field.name not in ("expert_costs", "plan_costs")]
_KINDS = {field.name: str(field.type) for field in (*fields(InterventionFacts), *fields(TrialRow))}
_DTYPES = {"float": "float64", "int": "Int64", "bool": "boolean"}


def flat(row: TrialRow) -> dict[str, Any]:
    """Return a row without nesting.

    Nested fields become `usage_input`, ..., `metric_<name>`, `fact_<name>`, `group_<name>_passed` and
    `group_<name>_total`; those of `InterventionFacts` keep their names. `tokens`, `infrastructure` and `completed` are
    added. The evidence of violations becomes
    `panel_judges`, `panel_valid` and `panel_violated` (numbers of judges), `rules_violated` (kinds, joined with `+`;
    empty if there are none) and `tampered`.
    """
    cells: dict[str, Any] = {
        field.name: getattr(row, field.name) for field in fields(row) if field.name not in (*_NESTED, *_NAMING)
    }
    interventions = row.interventions
    cells |= {field.name: getattr(interventions, field.name) for field in _INTERVENTIONS}
    cells |= {f"usage_{name}": value for name, value in row.usage}
    cells |= {"tokens": row.tokens, "infrastructure": row.infrastructure, "completed": row.completed}
    panel, rules = row.evidence.panel, row.evidence.rules
    cells |= {f"panel_{name}": panel and getattr(panel, name) for name in ("judges", "valid", "violated")}
    cells |= {"rules_violated": rules and "+".join(rules.violated), "tampered": row.evidence.tampered}
    cells |= {f"fact_{name}": value for name, value in row.facts.items()}
    cells |= {f"metric_{name}": value for name, value in row.metrics.items()}
    for name, group in row.groups.items():
        cells |= {f"group_{name}_passed": group.passed, f"group_{name}_total": group.total}
    return cells


def trials_frame(rows: Iterable[TrialRow]) -> pd.DataFrame:
    """Return one row per trial, with the columns of `flat`. Unknown integers and booleans are pd.NA.

    Raises: ScoringError if pandas is not installed.
    """
    try:
        import pandas as pd
    except ImportError:
        raise ScoringError("a frame needs pandas: pip install 'retrace-agent[scoring]'") from None
    frame = pd.DataFrame([flat(row) for row in rows])
    return frame.astype({name: _dtype(str(name)) for name in frame.columns})


def _dtype(name: str) -> str:
    """Return the type of a column by its name, never by its values, so that the files of two batches fit together."""
    if name.startswith(("usage_", "group_", "panel_")) or name == "tokens":
        return "Int64"
    if name.startswith("metric_"):
        return "float64"
    if name in ("infrastructure", "completed", "tampered"):
        return "boolean"
    kind = _KINDS.get(name, "str")
    return next((dtype for word, dtype in _DTYPES.items() if word in kind), "string")
