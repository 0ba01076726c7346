"""A price table as one JSON document that stands for itself: a batch keeps it, so that all its trials are priced alike.

The document holds the rows as the source has them, and tells which of our two readers understands them.
"""

from __future__ import annotations

import json
from typing import Literal

from pydantic import BaseModel, ConfigDict, ValidationError

from scoring.pricing.published import PriceError
from scoring.pricing.rates import price_of_litellm
from scoring.pricing.snapshots import price_of_snapshot
from scoring.pricing.tables import PriceTable
from trajectories.record.base import Json

_READERS = {"litellm": price_of_litellm, "snapshot": price_of_snapshot}


class _Document(BaseModel):
    model_config = ConfigDict(extra="ignore")

    rows_of: Literal["litellm", "snapshot"]
    source: str
    sha256: str
    name: str | None = None
    date: str | None = None
    rows: dict[str, Json]


def frozen_table(table: PriceTable) -> bytes:
    """Return a table as a JSON document."""
    rows_of: Literal["litellm", "snapshot"] = "litellm" if table.read is price_of_litellm else "snapshot"
    document = {
        "rows_of": rows_of,
        "source": table.source,
        "sha256": table.sha256,
        "name": table.name,
        "date": table.date,
        "rows": {name: dict(row) for name, row in table.rows.items()},
    }
    return json.dumps(document, ensure_ascii=False, separators=(",", ":")).encode()


def thawed_table(data: bytes) -> PriceTable:
    """Return the table in a JSON document.

    Raises: PriceError.
    """
    try:
        document = _Document.model_validate_json(data)
    except ValidationError as error:
        reason = error.errors(include_url=False)[0]["msg"]
        raise PriceError(f"the prices that were kept with the batch cannot be read: {reason}") from None
    return PriceTable(
        source=document.source,
        sha256=document.sha256,
        rows=document.rows,
        name=document.name,
        date=document.date,
        read=_READERS[document.rows_of],
    )
