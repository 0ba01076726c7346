"""Tables of prices by name of the model, and the table inside the litellm wheel, which is read without importing
litellm.

`scoring.pricing.snapshots` turns the user's own snapshots into tables; `scoring.pricing.cost` turns usage into dollars.
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
    """Rows by name of the model, as they are in the source, and the function that reads a row."""

    source: str
    sha256: str
    rows: Mapping[str, Row]
    name: str | None = None
    """Name of the table for `--prices`."""
    date: str | None = None
    """Day of the prices; None for the wheel's table, which does not state it."""
    read: Callable[[Row], ModelPrice | None] = price_of_litellm
    _read: dict[str, ModelPrice | None] = field(default_factory=dict, repr=False, compare=False)

    def find(self, *names: str | None) -> tuple[str, ModelPrice] | None:
        """Return the row name and price of the first of these names that has a price.

        Each name is tried as written, then without its provider prefixes.
        """
        for name in names:
            for candidate in spellings(name):
                price = self.price_of_row(candidate)
                if price is not None:
                    return candidate, price
        return None

    def price(self, *names: str | None) -> ModelPrice | None:
        """Return the price that `find` returns, without the name of its row."""
        match = self.find(*names)
        return None if match is None else match[1]

    def price_of_row(self, name: str) -> ModelPrice | None:
        """Return the price in the row of exactly this name; None without a row or without a rate for input."""
        if name not in self._read:
            row = self.rows.get(name)
            self._read[name] = None if row is None else self.read(row)
        return self._read[name]

    def row(self, *names: str | None) -> Row | None:
        """Return the row of the price that `find` returns, as it is in the source."""
        match = self.find(*names)
        return None if match is None else self.rows[match[0]]

    def ref(self, model: str) -> PriceRef:
        """Return the reference to this table that a trial records, with the rates of its model."""
        row = self.row(model)
        rates = None if row is None else dict(row)
        return PriceRef(name=self.name, source=self.source, date=self.date, sha256=self.sha256, rates=rates)


def spellings(name: str | None) -> list[str]:
    """Return a model's name as written, then without each part of its provider's prefix."""
    if not name:
        return []
    parts = name.split("/")
    return ["/".join(parts[start:]) for start in range(len(parts))]


def table_path() -> Path | None:
    """Return the file of the installed litellm's price table; None if there is none."""
    spec = importlib.util.find_spec("litellm")
    folder = Path(spec.origin).parent if spec is not None and spec.origin else None
    path = folder / _TABLE if folder is not None else None
    return path if path is not None and path.is_file() else None


@cache
def wheel_prices() -> PriceTable:
    """Return the table of the installed litellm; without litellm an empty table whose source is `none`."""
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
