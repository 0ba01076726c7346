"""Price snapshots on disk: dated, named files that are written once and never changed.

`FOLDER/NAME.json` has the rates of its models as they were published, in their currency, with the fixed exchange rates
that turn them into US dollars. Its `sha256` over all contents reveals an edit.
"""

from __future__ import annotations

import json
import math
import os
import re
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

from scoring.pricing.published import SCHEMA, PriceError, PriceRow, Prices, Snapshot, snapshot_of
from scoring.pricing.rates import ModelPrice, price_of_litellm
from scoring.pricing.tables import PriceTable, Row
from trajectories.record.events import TrialStarted
from trajectories.record.identity import sha256_of

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
_PER_USD = "per_usd"


def path_of(folder: Path, name: str) -> Path:
    """Return the file of the snapshot of this name, which may not exist yet.

    Raises: PriceError for an invalid name.
    """
    if not _NAME.fullmatch(name):
        raise PriceError(
            f"{name!r} is not a valid name of a snapshot: use letters, digits, '.', '_' and '-' (at most 64)"
        )
    return folder / f"{name}.json"


def write_snapshot(folder: Path, name: str, prices: Prices, *, date: str) -> Path:
    """Write a snapshot as a complete, read-only file and return its path. `date` is used if the prices have no date.

    Raises: PriceError if the name is taken (nothing is ever overwritten) or the file cannot be written.
    """
    path = path_of(folder, name)
    content: dict[str, Any] = {
        "schema": SCHEMA,
        "name": name,
        "date": prices.date or date,
        "source": prices.source or "not stated",
        **prices.model_dump(exclude_defaults=True, exclude={"date", "source", "models"}),
        "currency": prices.currency,
        "models": {model: row.model_dump(exclude_defaults=True) for model, row in sorted(prices.models.items())},
    }
    content["sha256"] = digest_of(content)
    data = json.dumps(content, indent=1, allow_nan=False) + "\n"
    snapshot_of(content, str(path))
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile("w", dir=folder, prefix=".new-", encoding="utf-8") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
            os.chmod(file.name, 0o444)
            os.link(file.name, path)  # unlike a rename, it never replaces
    except FileExistsError:
        raise PriceError(
            f"there is a snapshot {name!r} already ({path}), and snapshots never change: choose another name"
        ) from None
    except OSError as error:
        raise PriceError(f"{path}: cannot be written ({error.strerror})") from None
    return path


def read_snapshot(folder: Path, name: str) -> Snapshot:
    """Read the snapshot of this name.

    Raises: PriceError if there is none, or it was edited.
    """
    path = path_of(folder, name)
    content = _read(path)
    snapshot = snapshot_of(content, str(path))
    if snapshot.name != name:
        raise PriceError(f"{path}: contains the snapshot {snapshot.name!r}; rename the file to {snapshot.name}.json")
    if digest_of(content) != snapshot.sha256:
        raise PriceError(
            f"{path}: was edited after it was made (its sha256 differs); make a new snapshot: "
            f"agent prices snapshot NEW --from {path}"
        )
    return snapshot


def table_of(snapshot: Snapshot) -> PriceTable:
    """Return the snapshot as a price table. Rows in another currency get the exchange rate to US dollars."""
    rows: dict[str, Row] = snapshot.model_dump(include={"models"}, exclude_defaults=True)["models"]
    if snapshot.exchange:
        for name, row in rows.items():
            currency = row.get("currency", snapshot.currency)
            if currency != "USD":
                rows[name] = {**row, "currency": currency, _PER_USD: snapshot.per_usd(currency)}
    return PriceTable(
        source=snapshot.source,
        sha256=snapshot.sha256,
        rows=rows,
        name=snapshot.name,
        date=snapshot.date,
        read=price_of_snapshot,
    )


def table_of_record(start: TrialStarted) -> PriceTable | None:
    """Return the requested model's price as a trial recorded it; None if it recorded none (an import, a free model).

    The table raises PriceError when it prices a call, if the recorded rates are invalid.
    """
    ref = start.prices
    if ref is None:
        return None
    rows = {} if ref.rates is None else {start.model.name: ref.rates}
    return PriceTable(ref.source, ref.sha256, rows, name=ref.name, date=ref.date, read=_recorded_price)


def _recorded_price(row: Row) -> ModelPrice | None:
    try:
        is_of_litellm = "input_cost_per_token" in row or "tiered_pricing" in row
        price = price_of_litellm(row) if is_of_litellm else price_of_snapshot(row)
    except (ValueError, TypeError, ArithmeticError, AttributeError, LookupError) as error:
        raise PriceError(f"the prices in the record cannot be read: {' '.join(str(error).split())}") from None
    for steps in price.tiers.values() if price is not None else ():
        if not all(0 <= rate < math.inf for _, rates in steps for rate in rates.values()):
            raise PriceError("the prices in the record have a rate that is negative or not a number")
    return price


def price_of_snapshot(row: Row) -> ModelPrice:
    """Return the price in a row of a snapshot, in US dollars."""
    stated = {key: value for key, value in row.items() if key != _PER_USD}
    return PriceRow.model_validate(stated).price(row.get(_PER_USD, 1.0))


@dataclass(frozen=True)
class ListedSnapshot:
    """One snapshot of a listing."""

    name: str
    date: str
    source: str
    models: int
    sha256: str
    problem: str = ""
    """Reason why it cannot be used, or "". A listing does not validate the rates, so "" is not a guarantee."""


def list_snapshots(folder: Path) -> Iterator[ListedSnapshot]:
    """Yield the snapshots of a folder by name, including those that cannot be used."""
    for path in sorted(folder.glob("*.json")):
        try:
            content = _read(path)
            if content.get("schema") != SCHEMA:
                raise PriceError(f"{path}: not a snapshot of prices")
        except PriceError as error:
            yield ListedSnapshot(path.stem, "", "", 0, "", str(error))
            continue
        models = content.get("models")
        yield ListedSnapshot(
            name=path.stem,
            date=str(content.get("date", "")),
            source=str(content.get("source", "")),
            models=len(models) if isinstance(models, dict) else 0,
            sha256=str(content.get("sha256", "")),
        )


def digest_of(content: dict[str, Any]) -> str:
    """Return the sha256 of all contents of a snapshot except the digest itself."""
    return sha256_of({key: value for key, value in content.items() if key != "sha256"})


def _read(path: Path) -> dict[str, Any]:
    try:
        content = json.loads(path.read_text(encoding="utf-8"), parse_constant=_reject_constant)
    except FileNotFoundError:
        raise PriceError(f"no price snapshot {path.stem!r} in {path.parent} (agent prices list)") from None
    except OSError as error:
        raise PriceError(f"{path}: cannot be read ({error.strerror})") from None
    except (ValueError, RecursionError) as error:
        raise PriceError(f"{path}: not valid JSON ({error})") from None
    if not isinstance(content, dict):
        raise PriceError(f"{path}: not a snapshot of prices")
    return content


def _reject_constant(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is not a number")
