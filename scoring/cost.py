"""Usage times prices: the dollars of one call.

Pure functions. A bucket or a price that is unknown makes the figure unknown, never smaller.
"""

from __future__ import annotations

import re

from scoring.prices import PriceTable, Row
from trajectories.usage import Costs, Usage

_SIZE_TIER = re.compile(r"_above_(\d+)k_tokens$")
"""litellm's suffix of a rate for prompts longer than so many thousand tokens; the whole call is then dearer."""
_PLAIN_TIERS = (None, "", "auto", "default", "standard", "standard_only")


def price_call(
    usage: Usage | None,
    prices: PriceTable,
    *,
    requested: str,
    served: str | None,
    billed_usd: float | None = None,
    service_tier: str | None = None,
) -> Costs:
    """What a call cost, priced by the served model where it has a row of its own, else by the requested one.

    `computed` charges reads and writes of the cache and reasoning at their own prices; `list`
    charges the whole prompt at the uncached input price. Both are None without usage or a price, also
    where the table has none for this service tier.
    """
    row = _row(prices, requested, served)
    if usage is None or row is None or usage.input is None or usage.output is None:
        return Costs(billed=billed_usd)
    rates = _Rates(row, usage.prompt, None if service_tier in _PLAIN_TIERS else service_tier)
    plain, out = rates.of("input_cost_per_token"), rates.of("output_cost_per_token")
    reasoning = usage.reasoning or 0
    reasoning_rate = rates.of("output_cost_per_reasoning_token")
    computed = _sum(
        [
            (usage.input, plain),
            (usage.cache_read, rates.of("cache_read_input_token_cost")),
            (usage.cache_write_5m, rates.of("cache_creation_input_token_cost")),
            (usage.cache_write_1h, rates.of("cache_creation_input_token_cost_above_1hr")),
            (usage.output - reasoning, out),
            (reasoning, out if reasoning_rate is None else reasoning_rate),
        ]
    )
    return Costs(billed=billed_usd, computed=computed, list=_sum([(usage.prompt, plain), (usage.output, out)]))


def _row(prices: PriceTable, requested: str, served: str | None) -> Row | None:
    """The served model's row under the requested one's provider; a dated name of the requested model is that model."""
    if not served:
        return prices.row(requested)
    provider, slash, bare = requested.rpartition("/")
    qualified = prices.rows.get(f"{provider}/{served}") if slash else prices.rows.get(served)
    if qualified is not None:
        return prices.row(f"{provider}/{served}" if slash else served)
    if served.startswith(bare) or served.endswith(bare):
        return prices.row(requested, served)
    return prices.row(served, requested)


class _Rates:
    """A row's rates for a prompt of this size at this service tier."""

    def __init__(self, row: Row, prompt_tokens: int, service_tier: str | None) -> None:
        self._row = row
        self._prompt = prompt_tokens
        self._suffix = f"_{service_tier}" if service_tier else ""

    def of(self, key: str) -> float | None:
        """US dollars per token; None where the row does not say."""
        rate, reached = self._row.get(key + self._suffix), 0
        for name, value in self._row.items():
            if value is None or not name.endswith(self._suffix):
                continue
            tier = _SIZE_TIER.search(name.removesuffix(self._suffix))
            if tier is None or name[: tier.start()] != key:
                continue
            threshold = int(tier[1]) * 1000
            if reached < threshold < self._prompt:
                rate, reached = value, threshold
        return None if rate is None else float(rate)


def _sum(parts: list[tuple[int | None, float | None]]) -> float | None:
    total = 0.0
    for tokens, rate in parts:
        if not tokens:
            continue
        if rate is None:
            return None
        total += tokens * rate
    return total
