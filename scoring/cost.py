"""Usage times prices: the dollars of one call.

Pure functions. A bucket or a price that is unknown makes the figure unknown, never smaller.
"""

from __future__ import annotations

import re

from scoring.prices import PriceTable, Row
from trajectories.usage import Costs, Usage

_TIER = re.compile(r"_above_(\d+)k_tokens$")
"""litellm's suffix of a rate for prompts longer than so many thousand tokens; the whole call is then dearer."""


def price_call(
    usage: Usage | None, prices: PriceTable, *, requested: str, served: str | None, billed_usd: float | None = None
) -> Costs:
    """What a call cost, priced by the served model where it has a row, else by the requested one.

    `computed` charges reads and writes of the cache at their own prices; `list` charges the whole
    prompt at the uncached input price. Both are None without usage or without a price.
    """
    row = prices.row(_qualified(served, requested), served, requested)
    if usage is None or row is None:
        return Costs(billed=billed_usd)
    return Costs(billed=billed_usd, computed=_computed(usage, row), list=_list(usage, row))


def _qualified(served: str | None, requested: str) -> str | None:
    """The served name under the requested one's provider: `gpt-5.4-2026-03-05` asked as `azure/gpt-5.4`."""
    provider, slash, _ = requested.rpartition("/")
    return f"{provider}/{served}" if served and slash and not served.startswith(f"{provider}/") else None


def _rate(row: Row, key: str, prompt_tokens: int) -> float | None:
    rate, reached = row.get(key), 0
    for name, value in row.items():
        tier = _TIER.search(name)
        if tier is None or value is None or name[: tier.start()] != key:
            continue
        threshold = int(tier[1]) * 1000
        if reached < threshold < prompt_tokens:
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


def _computed(usage: Usage, row: Row) -> float | None:
    if usage.input is None or usage.output is None:
        return None
    prompt = usage.prompt
    plain = _rate(row, "input_cost_per_token", prompt)
    write = _rate(row, "cache_creation_input_token_cost", prompt)
    write_1h = _rate(row, "cache_creation_input_token_cost_above_1hr", prompt)
    read = _rate(row, "cache_read_input_token_cost", prompt)
    return _sum(
        [
            (usage.input, plain),
            (usage.cache_read, plain if read is None else read),
            (usage.cache_write_5m, plain if write is None else write),
            (usage.cache_write_1h, write if write_1h is None else write_1h),
            (usage.output, _rate(row, "output_cost_per_token", prompt)),
        ]
    )


def _list(usage: Usage, row: Row) -> float | None:
    if usage.input is None or usage.output is None:
        return None
    prompt = usage.prompt
    return _sum(
        [
            (prompt, _rate(row, "input_cost_per_token", prompt)),
            (usage.output, _rate(row, "output_cost_per_token", prompt)),
        ]
    )
