"""Price tables for people: list them, show their prices, compare them, and make a new snapshot."""

from __future__ import annotations

import datetime
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from agent.config import prices_dir
from agent.errors import UserError
from agent.reports.prices import WHEEL_PREFIX, find_prices
from scoring.pricing.diff import RateChange, diff_prices
from scoring.pricing.rates import BUCKETS
from scoring.pricing.tables import wheel_prices

if TYPE_CHECKING:
    from scoring.pricing.sources import SourcePrices


@dataclass(frozen=True)
class ListedTable:
    """One price table, without its prices."""

    name: str
    date: str | None
    source: str
    models: int
    sha256: str
    problem: str = ""
    """Reason why the table cannot be used, or ""."""


def list_tables() -> list[ListedTable]:
    """Return all price tables, that of the installed litellm first."""
    from scoring.pricing.snapshots import list_snapshots

    wheel = wheel_prices()
    tables = []
    if wheel.name is not None:
        tables.append(ListedTable(wheel.name, None, wheel.source, len(wheel.rows), wheel.sha256))
    for snapshot in list_snapshots(prices_dir()):
        tables.append(
            ListedTable(
                name=snapshot.name,
                date=snapshot.date,
                source=snapshot.source,
                models=snapshot.models,
                sha256=snapshot.sha256,
                problem=snapshot.problem,
            )
        )
    return tables


@dataclass(frozen=True)
class PriceLine:
    """Prices of a model in US dollars per million tokens, at one service tier and for prompts above one size."""

    model: str
    tier: str
    above: int
    usd_per_million: Mapping[str, float | None]
    """Prices by bucket; None is unknown."""

    def row(self) -> dict[str, object]:
        """Return the line as a row of a table."""
        return {"model": self.model, "tier": self.tier, "above": self.above, **self.usd_per_million}


def price_lines(name: str, models: Sequence[str] = (), aliases: Mapping[str, str] | None = None) -> list[PriceLine]:
    """Return the prices in a table: a line for each model, service tier and prompt size.

    `models` are names of the table, or aliases in `aliases`; without `models` there are lines for all of them.

    Raises: UserError, PriceError.
    """
    from scoring.pricing.sources import rows_for

    table = find_prices(name)
    priced = {model: price for model in table.rows if (price := table.price_of_row(model)) is not None}
    names = [model if model in priced else (aliases or {}).get(model, model) for model in models]
    return [
        PriceLine(model, tier, above, {bucket: _per_million(rates.get(bucket)) for bucket in BUCKETS})
        for model in sorted(rows_for(priced, f"the table {name}", names))
        for tier, steps in priced[model].tiers.items()
        for above, rates in steps
    ]


@dataclass(frozen=True)
class TableDifference:
    """Differences between two tables, with rates in US dollars per million tokens."""

    old: str
    new: str
    added: tuple[str, ...]
    removed: tuple[str, ...]
    changed: tuple[RateChange, ...]
    same: int
    """Number of models whose rates are all the same."""


def compare(old: str, new: str) -> TableDifference:
    """Return the differences between two tables.

    Raises: UserError, PriceError.
    """
    diff = diff_prices(find_prices(old), find_prices(new))
    changed = tuple(
        replace(change, old=_per_million(change.old), new=_per_million(change.new)) for change in diff.changed
    )
    return TableDifference(old, new, diff.added, diff.removed, changed, diff.same)


@dataclass(frozen=True)
class MadeSnapshot:
    """Summary of a new snapshot."""

    name: str
    file: str
    date: str
    source: str
    sha256: str
    models: int
    gaps: Mapping[str, Sequence[str]]
    """By model, the buckets among input and output without a rate."""
    off_peak: Sequence[str]
    """Models that are cheaper at some hours; the snapshot has their standing rates."""
    left_out: int
    """Number of rows of litellm's table that have no price per token."""


def make_snapshot(
    name: str,
    *,
    source: str | None,
    models: Sequence[str],
    rows: Sequence[str],
    rates: Sequence[str],
    currency: str | None,
    date: str | None,
) -> MadeSnapshot:
    """Write a snapshot of prices. Options are as typed: `rows` is --set, `rates` is --rate.

    Raises: UserError, PriceError.
    """
    from scoring.pricing.published import PriceError
    from scoring.pricing.snapshots import path_of, read_snapshot, write_snapshot
    from scoring.pricing.sources import combine, from_file, from_table, typed_row

    if name.startswith(WHEEL_PREFIX):
        raise UserError(
            f"{name!r}: names that begin with {WHEEL_PREFIX} are reserved for litellm's own tables; choose another"
        )
    if models and source is None and rows:
        raise UserError("--model chooses rows of --from; each --set names its own model")
    if path_of(prices_dir(), name).exists():
        raise UserError(f"there is a snapshot {name!r} already, and snapshots never change: choose another name")
    typed = [typed_row(words.split()) for words in rows]
    repeated = {model for model, _ in typed if [other for other, _ in typed].count(model) > 1}
    if repeated:
        raise PriceError(f"--set {min(repeated)} is given twice; write all rates of a model in one --set")
    base: SourcePrices | None
    if source == "litellm" or (source is None and not typed):
        base = from_table(wheel_prices(), models)
    else:
        base = None if source is None else from_file(Path(source), models)
    prices = combine(base, models=dict(typed), exchange=dict(map(_exchange_rate, rates)), currency=currency, date=date)
    path = write_snapshot(prices_dir(), name, prices, date=datetime.date.today().isoformat())
    written = read_snapshot(prices_dir(), name)
    return MadeSnapshot(
        name=name,
        file=str(path),
        date=written.date,
        source=written.source,
        sha256=written.sha256,
        models=len(written.models),
        gaps=written.gaps,
        off_peak=base.off_peak if base is not None else (),
        left_out=base.left_out if base is not None else 0,
    )


def _per_million(rate: float | None) -> float | None:
    return None if rate is None else round(rate * 1e6, 9)


def _exchange_rate(text: str) -> tuple[str, float]:
    code, equals, value = text.partition("=")
    try:
        if equals:
            return code, float(value)
    except ValueError:
        pass
    raise UserError(f"--rate {text!r}: write CODE=UNITS_PER_USD, for instance CNY=6.77")
