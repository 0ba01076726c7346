"""The price table of a trial: found by name, checked for a model, and kept when a trial is continued.

`--prices NAME` of every command is resolved here. Tables and costs themselves are in `scoring`.
"""

from __future__ import annotations

from collections.abc import Callable

from agent.config import prices_dir
from agent.errors import UserError
from scoring.pricing.tables import PriceTable, wheel_prices
from trajectories.errors import RecordError
from trajectories.record.events import PriceRef, RoleRecordStarted, TrialStarted

WHEEL_PREFIX = "litellm-"
"""Prefix of the names of tables inside litellm's wheels."""


def find_prices(name: str | None) -> PriceTable:
    """Return the table of this name; without a name that of the installed litellm.

    Raises: UserError if there is no such table; PriceError if it cannot be used.
    """
    wheel = wheel_prices()
    if name is None or name == wheel.name:
        return wheel
    if name.startswith(WHEEL_PREFIX):
        raise UserError(
            f"--prices {name}: the table of the installed litellm is {wheel.name or 'missing'}; use that one"
        )
    from scoring.pricing.snapshots import list_snapshots, path_of, read_snapshot, table_of

    if not path_of(prices_dir(), name).exists():
        snapshots = [snapshot.name for snapshot in list_snapshots(prices_dir())]
        names = ", ".join(snapshots if wheel.name is None else [wheel.name, *snapshots])
        raise UserError(f"--prices {name}: there is no snapshot of that name in {prices_dir()}; tables are {names}")
    return table_of(read_snapshot(prices_dir(), name))


def price_problem(prices: PriceTable, model: str) -> str:
    """Return the reason why calls of this model would have no cost; empty if they have one."""
    price = prices.price(model)
    if price is None:
        return f"{model!r} has no price in {prices.source}"
    gaps = [bucket for bucket in ("input", "output") if getattr(price.base, bucket) is None]
    return f"{model!r} has no rate of {' and '.join(gaps)} in {prices.source}" if gaps else ""


def require_prices(
    trial: str, first: TrialStarted | RoleRecordStarted, find: Callable[[str | None], PriceTable] = find_prices
) -> None:
    """Check that a record that is continued is priced with the same snapshot as before, which `find` looks up.

    Raises: UserError if the snapshot is missing or has changed.
    """
    name = first.options.get("prices")
    if not isinstance(name, str) or name.startswith(WHEEL_PREFIX):
        return
    try:
        table = find(name)
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
