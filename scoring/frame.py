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
    for name in frame.columns:
        kinds = {type(value) for value in frame[name].dropna()}
        if kinds in ({int}, {bool}):
            frame[name] = frame[name].astype("Int64" if kinds == {int} else "boolean")
        elif kinds == {float} and frame[name].dropna().map(float.is_integer).all() and _counts(name):
            frame[name] = frame[name].astype("Int64")
        elif not kinds:  # unknown everywhere: the type that it has elsewhere, so that frames and files go together
            frame[name] = frame[name].astype(_kind(name))
    return frame


def _kind(name: str) -> str:
    if _counts(name):
        return "Int64"
    if name == "quality" or name.endswith(("_usd", "_s")) or name.startswith("metric_"):
        return "float64"
    return "boolean" if name == "passed" else "str"


def _counts(name: str) -> bool:
    """Columns of counts, which pandas makes floats where one is unknown."""
    return name in ("tokens", "turn") or name.startswith(("usage_", "group_"))
