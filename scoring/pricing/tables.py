"""Tables of prices by model name, and the one inside the litellm wheel: read as a file, never imported.

Snapshots of the user's own become tables in `scoring.pricing.snapshots`; `scoring.pricing.cost` turns usage into
dollars.
"""

from __future__ import annotations

import hashlib
import importlib.metadata
import importlib.util
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from scoring.pricing.rates import ModelPrice, price_of_litellm
from trajectories.record.events import PriceRef

_TABLE = "model_prices_and_context_window_backup.json"

Row = Mapping[str, Any]


@dataclass(frozen=True)
class PriceTable:
    """Rows by model name, as they stand in the source, and how to read one."""

    source: str
    sha256: str
    rows: Mapping[str, Row]
    name: str | None = None
    """What `--prices` takes."""
    date: str | None = None
    """As of which day the prices are; None for the wheel's table, which does not say."""
    read: Callable[[Row], ModelPrice | None] = price_of_litellm
    _read: dict[str, ModelPrice | None] = field(default_factory=dict, repr=False, compare=False)

    def find(self, *names: str | None) -> tuple[str, ModelPrice] | None:
        """The first of these names that has a price, as written or without its provider prefix, as the table has it."""
        for name in names:
            for candidate in spellings(name):
                price = self.price_of_row(candidate)
                if price is not None:
                    return candidate, price
        return None

    def price(self, *names: str | None) -> ModelPrice | None:
        """The price that `find` finds."""
        found = self.find(*names)
        return None if found is None else found[1]

    def price_of_row(self, name: str) -> ModelPrice | None:
        """The price in the row of exactly this name; None without a row or without a rate for input."""
        if name not in self._read:
            row = self.rows.get(name)
            self._read[name] = None if row is None else self.read(row)
        return self._read[name]

    def row(self, *names: str | None) -> Row | None:
        """The row that `find` finds, as it stands in the source."""
        found = self.find(*names)
        return None if found is None else self.rows[found[0]]

    def ref(self, model: str) -> PriceRef:
        """What a trial records of the table that it is priced with."""
        row = self.row(model)
        rates = None if row is None else dict(row)
        return PriceRef(name=self.name, source=self.source, date=self.date, sha256=self.sha256, rates=rates)


def spellings(name: str | None) -> list[str]:
    """A model's name as written, and without each part of its provider's prefix."""
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
    return PriceTable(
        source=f"litellm {version}",
        sha256=hashlib.sha256(data).hexdigest(),
        rows=json.loads(data),
        name=f"litellm-{version}",
    )
