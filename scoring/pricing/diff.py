"""Differences between two tables of prices, in US dollars per token."""

from __future__ import annotations

from dataclasses import dataclass

from scoring.pricing.rates import ModelPrice
from scoring.pricing.tables import PriceTable


@dataclass(frozen=True)
class RateChange:
    """One rate that differs; None if a table does not state it."""

    model: str
    rate: str
    """A bucket, maybe of a service tier or of longer prompts: `flex.input@272000`."""
    old: float | None
    new: float | None


@dataclass(frozen=True)
class PriceDiff:
    """Models with a price in only one of two tables, and rates that differ for the others."""

    added: tuple[str, ...]
    removed: tuple[str, ...]
    changed: tuple[RateChange, ...]
    same: int
    """Number of models whose rates are all the same."""


def diff_prices(old: PriceTable, new: PriceTable) -> PriceDiff:
    """Compare two tables by name of the model. Models without a price per token are left out."""
    before, after = _prices(old), _prices(new)
    changed: list[RateChange] = []
    same = 0
    for model in sorted(before.keys() & after.keys()):
        rates = rates_by_name(before[model]), rates_by_name(after[model])
        changes = [
            RateChange(model, name, rates[0].get(name), rates[1].get(name))
            for name in sorted(rates[0].keys() | rates[1].keys())
            if rates[0].get(name) != rates[1].get(name)
        ]
        changed += changes
        same += not changes
    return PriceDiff(
        added=tuple(sorted(after.keys() - before.keys())),
        removed=tuple(sorted(before.keys() - after.keys())),
        changed=tuple(changed),
        same=same,
    )


def rates_by_name(price: ModelPrice) -> dict[str, float]:
    """Return all rates of a price by their names in `--set`: `input`, `output@200000`, `batch.cache_read`."""
    return {
        (f"{tier}." if tier else "") + bucket + (f"@{above}" if above else ""): rate
        for tier, steps in price.tiers.items()
        for above, rates in steps
        for bucket, rate in rates.items()
    }


def _prices(table: PriceTable) -> dict[str, ModelPrice]:
    prices = ((name, table.price_of_row(name)) for name in table.rows)
    return {name: price for name, price in prices if price is not None}
