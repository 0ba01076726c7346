"""What tokens cost: the price table inside the litellm wheel, read as a file, never imported.

Rows are litellm's own (USD per token); `scoring.cost` turns usage into dollars with them.
"""

from __future__ import annotations

import hashlib
import importlib.metadata
import importlib.util
import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from trajectories.events import PriceRef

_TABLE = "model_prices_and_context_window_backup.json"

Row = Mapping[str, Any]


@dataclass(frozen=True)
class PriceTable:
    """Rows by litellm's model name."""

    source: str
    sha256: str
    rows: Mapping[str, Row]

    def row(self, *names: str | None) -> Row | None:
        """The first of these names that has a price, as written or without its provider prefix."""
        for name in names:
            for candidate in _spellings(name):
                row = self.rows.get(candidate)
                if row is not None and row.get("input_cost_per_token") is not None:
                    return row
        return None

    def ref(self, model: str) -> PriceRef:
        """What a trial records of the snapshot it is priced with."""
        row = self.row(model)
        return PriceRef(source=self.source, sha256=self.sha256, rates=dict(row) if row is not None else None)


def _spellings(name: str | None) -> list[str]:
    if not name:
        return []
    parts = name.split("/")
    return ["/".join(parts[start:]) for start in range(len(parts))]


def table_path() -> Path | None:
    """Where the installed litellm keeps its price table; None if there is none."""
    spec = importlib.util.find_spec("litellm")
    folder = Path(spec.origin).parent if spec is not None and spec.origin else None
    path = folder / _TABLE if folder is not None else None
    return path if path is not None and path.is_file() else None


@cache
def wheel_prices() -> PriceTable:
    """The table of the installed litellm; empty, and named so, where there is none."""
    path = table_path()
    if path is None:
        return PriceTable(source="none (litellm is not installed)", sha256=hashlib.sha256(b"").hexdigest(), rows={})
    data = path.read_bytes()
    version = importlib.metadata.version("litellm")
    return PriceTable(source=f"litellm {version}", sha256=hashlib.sha256(data).hexdigest(), rows=json.loads(data))
