"""Price tables by name: the table of the installed litellm, and the user's own snapshots.

`--prices NAME` of every command is resolved here. Tables and costs themselves are in `scoring`.
"""

from __future__ import annotations

import datetime
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from agent.config import prices_dir
from agent.errors import UserError
from scoring.pricing.tables import PriceTable, wheel_prices
from trajectories.errors import RecordError
from trajectories.record.events import PriceRef, TrialStarted

if TYPE_CHECKING:
    from scoring.pricing.sources import SourcePrices

_WHEEL = "litellm-"
"""Prefix of the names of tables inside litellm's wheels."""


def find_prices(name: str | None) -> PriceTable:
    """Return the table of this name; without a name that of the installed litellm.

    Raises: UserError if there is no such table; PriceError if it cannot be used.
    """
    wheel = wheel_prices()
    if name is None or name == wheel.name:
        return wheel
    if name.startswith(_WHEEL):
        raise UserError(
            f"--prices {name}: the table of the installed litellm is {wheel.name or 'missing'}; use that one"
        )
    from scoring.pricing.snapshots import path_of, read_snapshot, table_of

    if not path_of(prices_dir(), name).exists():
        names = ", ".join(row["name"] for row in table_rows())
        raise UserError(f"--prices {name}: there is no snapshot of that name in {prices_dir()}; tables are {names}")
    return table_of(read_snapshot(prices_dir(), name))


def price_problem(prices: PriceTable, model: str) -> str:
    """Return the reason why calls of this model would have no cost; empty if they have one."""
    price = prices.price(model)
    if price is None:
        return f"{model!r} has no price in {prices.source}"
    gaps = [bucket for bucket in ("input", "output") if getattr(price.base, bucket) is None]
    return f"{model!r} has no rate of {' and '.join(gaps)} in {prices.source}" if gaps else ""


def require_prices(trial: str, first: TrialStarted) -> None:
    """Check that a trial that is continued is priced with the same snapshot as before.

    Raises: UserError if the snapshot is missing or has changed.
    """
    name = first.options.get("prices")
    if not isinstance(name, str) or name.startswith(_WHEEL):
        return
    try:
        table = find_prices(name)
    except (UserError, RecordError) as error:
        raise UserError(f"{trial} was priced with the snapshot {name!r}, which cannot be used: {error}") from None
    if first.prices is not None and first.prices.sha256 != table.sha256:
        raise UserError(
            f"{trial} was priced with the snapshot {name!r}, which has changed (its sha256 was "
            f"{first.prices.sha256[:12]}, now it is {table.sha256[:12]}); restore the original in {prices_dir()}"
        )


def other_prices(prices: PriceTable, recorded: PriceRef | None) -> str | None:
    """Return a warning if a trial is continued with another table of litellm than it began with."""
    if recorded is None or recorded.sha256 == prices.sha256:
        return None
    return f"calls from here on are priced with {prices.source}, those before with {recorded.source}"


def make_snapshot(
    name: str,
    *,
    source: str | None,
    models: Sequence[str],
    rows: Sequence[str],
    rates: Sequence[str],
    currency: str | None,
    date: str | None,
) -> dict[str, Any]:
    """Write a snapshot of prices and return its summary. Options are as typed: `rows` is --set, `rates` is --rate.

    Raises: UserError, PriceError.
    """
    from scoring.pricing.published import PriceError
    from scoring.pricing.snapshots import path_of, read_snapshot, write_snapshot
    from scoring.pricing.sources import combine, from_file, from_table, typed_row

    if name.startswith(_WHEEL):
        raise UserError(
            f"{name!r}: names that begin with {_WHEEL} are reserved for litellm's own tables; choose another"
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
    prices = combine(base, models=dict(typed), exchange=dict(map(_rate, rates)), currency=currency, date=date)
    path = write_snapshot(prices_dir(), name, prices, date=datetime.date.today().isoformat())
    written = read_snapshot(prices_dir(), name)
    return {
        "name": name,
        "file": str(path),
        "date": written.date,
        "source": written.source,
        "sha256": written.sha256,
        "models": len(written.models),
        "gaps": {model: list(buckets) for model, buckets in written.gaps.items()},
        "off_peak": list(base.off_peak) if base is not None else [],
        "left_out": base.left_out if base is not None else 0,
    }


def table_rows() -> list[dict[str, Any]]:
    """Return all price tables, that of the installed litellm first."""
    from scoring.pricing.snapshots import list_snapshots

    wheel = wheel_prices()
    rows: list[dict[str, Any]] = []
    if wheel.name is not None:
        rows.append(_listed(wheel.name, None, wheel.source, len(wheel.rows), wheel.sha256))
    for snapshot in list_snapshots(prices_dir()):
        rows.append(
            _listed(
                snapshot.name,
                snapshot.date,
                snapshot.source,
                snapshot.models,
                snapshot.sha256,
                snapshot.problem,
            )
        )
    return rows


def price_rows(name: str, models: Sequence[str] = (), aliases: Mapping[str, str] | None = None) -> list[dict[str, Any]]:
    """Return the prices in a table, in US dollars per million tokens.

    There is a row for each model, service tier and prompt size. `models` are names of the table, or aliases in
    `aliases`; without `models` there are rows for all of them.

    Raises: UserError, PriceError.
    """
    from scoring.pricing.rates import BUCKETS
    from scoring.pricing.sources import rows_for

    table = find_prices(name)
    priced = {model: price for model in table.rows if (price := table.price_of_row(model)) is not None}
    names = [model if model in priced else (aliases or {}).get(model, model) for model in models]
    return [
        {"model": model, "tier": tier, "above": above}
        | {bucket: None if (rate := rates.get(bucket)) is None else round(rate * 1e6, 9) for bucket in BUCKETS}
        for model in sorted(rows_for(priced, f"the table {name}", names))
        for tier, steps in priced[model].tiers.items()
        for above, rates in steps
    ]


def compare(old: str, new: str) -> dict[str, Any]:
    """Return the differences between two tables, with rates in US dollars per million tokens.

    Raises: UserError, PriceError.
    """
    from scoring.pricing.diff import diff_prices

    diff = diff_prices(find_prices(old), find_prices(new))
    return {
        "old": old,
        "new": new,
        "added": list(diff.added),
        "removed": list(diff.removed),
        "changed": [
            {
                "model": change.model,
                "rate": change.rate,
                "old": _per_million(change.old),
                "new": _per_million(change.new),
            }
            for change in diff.changed
        ],
        "same": diff.same,
    }


def _listed(name: str, date: str | None, source: str, models: int, sha256: str, problem: str = "") -> dict[str, Any]:
    return {"name": name, "date": date, "source": source, "models": models, "sha256": sha256, "problem": problem}


def _per_million(rate: float | None) -> float | None:
    return None if rate is None else round(rate * 1e6, 9)


def _rate(text: str) -> tuple[str, float]:
    code, equals, value = text.partition("=")
    try:
        if equals:
            return code, float(value)
    except ValueError:
        pass
    raise UserError(f"--rate {text!r}: write CODE=UNITS_PER_USD, for instance CNY=6.77")
