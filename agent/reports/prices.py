"""Price tables by name: the installed litellm's, and the user's own snapshots.

`--prices NAME` of any command comes here; what a table is and costs, `scoring` knows.
"""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from agent.config import prices_dir
from agent.errors import UserError
from scoring.pricing.tables import PriceTable, wheel_prices
from trajectories.errors import RecordError
from trajectories.record.events import PriceRef, TrialStarted

if TYPE_CHECKING:
    from scoring.pricing.sources import Made

_WHEEL = "litellm-"
"""Names that begin so are those of the tables inside litellm's wheels."""


def find_prices(name: str | None) -> PriceTable:
    """The table of this name; the installed litellm's without one.

    Raises: UserError if there is none; PriceError if it cannot be used.
    """
    wheel = wheel_prices()
    if name is None or name == wheel.name:
        return wheel
    if name.startswith(_WHEEL):
        raise UserError(f"--prices {name}: the installed litellm's table is {wheel.name or 'missing'}; name that one")
    from scoring.pricing.snapshots import path_of, read_snapshot, table_of

    if not path_of(prices_dir(), name).exists():
        known = ", ".join(row["name"] for row in table_rows())
        raise UserError(f"--prices {name}: there is no snapshot of that name in {prices_dir()}; there are {known}")
    return table_of(read_snapshot(prices_dir(), name))


def why_no_price(prices: PriceTable, model: str) -> str:
    """Why calls of this model would have no cost; empty if they have one."""
    price = prices.price(model)
    if price is None:
        return f"{model!r} has no price in {prices.source}"
    gaps = [bucket for bucket in ("input", "output") if getattr(price.base, bucket) is None]
    return f"{model!r} has no rate of {' and '.join(gaps)} in {prices.source}" if gaps else ""


def require_prices(trial: str, first: TrialStarted) -> None:
    """Hold a trial that goes on to the snapshot that it was priced with.

    Raises: UserError if that is gone or another one now.
    """
    asked = first.options.get("prices")
    if not isinstance(asked, str) or asked.startswith(_WHEEL):
        return
    try:
        now = find_prices(asked)
    except (UserError, RecordError) as error:
        raise UserError(f"{trial} was priced with the snapshot {asked!r}, which cannot be had: {error}") from None
    if first.prices is not None and first.prices.sha256 != now.sha256:
        raise UserError(
            f"{trial} was priced with the snapshot {asked!r}, and that is another one now (its sha256 was "
            f"{first.prices.sha256[:12]}, now it is {now.sha256[:12]}); put back what it was in {prices_dir()}"
        )


def other_prices(prices: PriceTable, recorded: PriceRef | None) -> str | None:
    """A line for a trial that goes on with another table of litellm's than it began with."""
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
    """Write a snapshot of prices, and say what is in it; options as typed (`rows` is --set, `rates` is --rate).

    Raises: UserError, PriceError.
    """
    from scoring.pricing.published import PriceError
    from scoring.pricing.snapshots import path_of, read_snapshot, write_snapshot
    from scoring.pricing.sources import from_file, from_table, put_together, typed_row

    if name.startswith(_WHEEL):
        raise UserError(f"{name!r}: names that begin with {_WHEEL} are those of litellm's own tables; choose another")
    if models and source is None and rows:
        raise UserError("--model chooses rows of --from; a row of --set has its model in it")
    if path_of(prices_dir(), name).exists():
        raise UserError(f"there is a snapshot {name!r} already, and snapshots never change: choose another name")
    typed = [typed_row(words.split()) for words in rows]
    twice = {model for model, _ in typed if [other for other, _ in typed].count(model) > 1}
    if twice:
        raise PriceError(f"--set {min(twice)}: is given twice; write all rates of a model in one --set")
    asked = [_full_name(model) for model in models]
    made: Made | None
    if source == "litellm" or (source is None and not typed):
        made = from_table(wheel_prices(), asked)
    else:
        made = None if source is None else from_file(Path(source), asked)
    prices = put_together(made, models=dict(typed), exchange=dict(map(_rate, rates)), currency=currency, date=date)
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
        "off_peak": list(made.off_peak) if made is not None else [],
        "left_out": made.left_out if made is not None else 0,
    }


def table_rows() -> list[dict[str, Any]]:
    """All tables that there are, the installed litellm's first."""
    from scoring.pricing.snapshots import list_snapshots

    wheel = wheel_prices()
    rows: list[dict[str, Any]] = []
    if wheel.name is not None:
        rows.append(_listed(wheel.name, None, wheel.source, len(wheel.rows), wheel.sha256))
    for one in list_snapshots(prices_dir()):
        rows.append(_listed(one.name, one.date, one.source, one.models, one.sha256, one.problem))
    return rows


def price_rows(name: str, models: Sequence[str] = ()) -> list[dict[str, Any]]:
    """The prices in a table, US dollars per million tokens: a row for each model, service tier and size of prompt.

    Raises: UserError, PriceError.
    """
    from scoring.pricing.rates import BUCKETS
    from scoring.pricing.sources import chosen

    table = find_prices(name)
    priced = {model: price for model in table.rows if (price := table.price_of_row(model)) is not None}
    return [
        {"model": model, "tier": tier, "above": above}
        | {bucket: None if (rate := rates.get(bucket)) is None else round(rate * 1e6, 9) for bucket in BUCKETS}
        for model in sorted(
            chosen(priced, f"the table {name}", (one if one in priced else _full_name(one) for one in models))
        )
        for tier, steps in priced[model].tiers.items()
        for above, rates in steps
    ]


def compare(old: str, new: str) -> dict[str, Any]:
    """What differs between two tables, rates in US dollars per million tokens.

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
            {"model": one.model, "rate": one.rate, "old": _per_million(one.old), "new": _per_million(one.new)}
            for one in diff.changed
        ],
        "same": diff.same,
    }


def _listed(name: str, date: str | None, source: str, models: int, sha256: str, problem: str = "") -> dict[str, Any]:
    return {"name": name, "date": date, "source": source, "models": models, "sha256": sha256, "problem": problem}


def _per_million(rate: float | None) -> float | None:
    return None if rate is None else round(rate * 1e6, 9)


def _full_name(model: str) -> str:
    """An alias's model; any other name as it is."""
    from agent.models.aliases import load_aliases

    target = load_aliases().get(model)
    return model if target is None else target.name


def _rate(text: str) -> tuple[str, float]:
    code, equals, value = text.partition("=")
    try:
        if equals:
            return code, float(value)
    except ValueError:
        pass
    raise UserError(f"--rate {text!r}: write CODE=UNITS_PER_USD, for instance CNY=6.77")
