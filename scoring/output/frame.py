"""Trials for pandas users: one row a trial. Needs pandas (the extra `scoring`)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import fields
from typing import TYPE_CHECKING, Any

from scoring.errors import ScoringError
from scoring.rows import TrialRow

if TYPE_CHECKING:
    import pandas as pd

_NESTED = ("usage", "facts", "metrics", "groups")
_KINDS = {field.name: str(field.type) for field in fields(TrialRow)}
_DTYPES = {"float": "float64", "int": "Int64", "bool": "boolean"}


def flat(row: TrialRow) -> dict[str, Any]:
    """A row without nesting: `usage_input`, ..., `tokens`, `infrastructure`, `completed`, `metric_<name>`,
    `fact_<name>`, and of each group `group_<name>_passed` and `_total`."""
    known: dict[str, Any] = {field.name: getattr(row, field.name) for field in fields(row) if field.name not in _NESTED}
    known |= {f"usage_{name}": value for name, value in row.usage}
    known |= {"tokens": row.tokens, "infrastructure": row.infrastructure, "completed": row.completed}
    known |= {f"fact_{name}": value for name, value in row.facts.items()}
    known |= {f"metric_{name}": value for name, value in row.metrics.items()}
    for name, group in row.groups.items():
        known |= {f"group_{name}_passed": group.passed, f"group_{name}_total": group.total}
    return known


def trials_frame(rows: Iterable[TrialRow]) -> pd.DataFrame:
    """One row a trial, columns as `flat` names them; whole numbers and truths that may be unknown stay so (pd.NA).

    Raises: ScoringError if pandas is not installed.
    """
    try:
        import pandas as pd
    except ImportError:
        raise ScoringError("a frame needs pandas: pip install 'retrace-agent[scoring]'") from None
    frame = pd.DataFrame([flat(row) for row in rows])
    return frame.astype({name: _dtype(str(name)) for name in frame.columns})


def _dtype(name: str) -> str:
    """By the name alone, never by the values: files of two batches fit together, also where one knows no cost."""
    if name.startswith(("usage_", "group_")) or name == "tokens":
        return "Int64"
    if name.startswith("metric_"):
        return "float64"
    if name in ("infrastructure", "completed"):
        return "boolean"
    kind = _KINDS.get(name, "str")
    return next((dtype for word, dtype in _DTYPES.items() if word in kind), "string")
