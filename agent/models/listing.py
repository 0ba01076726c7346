"""Rows of `agent models list`: aliases with their prices, and whether a key is set."""

from __future__ import annotations

from typing import Any

from agent.models.aliases import load_aliases
from agent.models.litellm.providers import key_is_set
from scoring.pricing.rates import Rates
from scoring.pricing.tables import wheel_prices


def model_rows() -> list[dict[str, Any]]:
    """Return one row per alias; prices are in US dollars per million tokens, None if the table has none."""
    prices = wheel_prices()
    rows = []
    for alias, target in load_aliases().items():
        price = prices.price(target.name)
        base = Rates() if price is None else price.base
        rows.append(
            {
                "alias": alias,
                "model": target.name,
                "input": _per_million(base.input),
                "cache_read": _per_million(base.cache_read),
                "output": _per_million(base.output),
                "key": key_is_set(target.name),
            }
        )
    return rows


def _per_million(rate: float | None) -> float | None:
    return None if rate is None else round(rate * 1e6, 6)
