"""Usage times prices: the dollars of one call.

Pure functions. An unknown bucket or price makes the figure unknown, never smaller.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from scoring.pricing.rates import ModelPrice, Rates
from scoring.pricing.tables import PriceTable
from trajectories.record.usage import Costs, Usage

_RELEASE = r"(?:[-@:](?:\d{4}-\d\d-\d\d|\d\d-\d{4}|\d\d-\d\d|\d{8}|\d{6}|\d{3,4}|latest))?(?:-v\d+(?::\d+)?)?"
"""`-20251101`, `-2025-08-07`, `-08-2024`, `-05-06`, `@20251101`, `-0613`, `-001`, `-latest`, and Bedrock's `-v1:0`."""


@dataclass(frozen=True)
class Missing:
    """One reason for an unknown cost."""

    kind: Literal["usage", "price", "rate", "service_tier"]
    name: str = ""
    """Model without a price, bucket without a rate, or service tier without rates; empty for `usage`."""
    row: str = ""
    """Row of the price table that lacks the rate or the service tier, if it is known."""


@dataclass(frozen=True)
class Charge:
    """Costs of one call at the rates of one model, in US dollars. None is unknown; `missing` has the reasons."""

    computed: float | None = None
    """Cost with cache reads, cache writes and reasoning at their own rates."""
    list: float | None = None
    """Cost with the whole prompt at the rate of uncached input."""
    agentmeter: float | None = None
    """Cost by `agentmeter_cost`."""
    missing: tuple[Missing, ...] = ()


def price_call(
    usage: Usage | None,
    prices: PriceTable,
    *,
    requested: str,
    served: str | None,
    billed_usd: float | None = None,
    service_tier: str | None = None,
) -> Costs:
    """Return the costs of a call at the price of the served model, or of the requested model if the served one has
    none.

    `computed` and `list` are None without usage or a price, and if the table has no price for this service tier.
    """
    priced = find_price(prices, requested, served)
    if priced is None:
        return Costs(billed=billed_usd)
    charged = charge(usage, priced[1], service_tier)
    return Costs(billed=billed_usd, computed=charged.computed, list=charged.list)


def find_price(prices: PriceTable, requested: str, served: str | None) -> tuple[str, ModelPrice] | None:
    """Return the name of a row and the price of a call; None if neither model has a price.

    The served model is looked up under the provider of the requested one. A dated name of the requested model is the
    requested model.
    """
    if not served:
        return prices.find(requested)
    provider, slash, _ = requested.rpartition("/")
    qualified = f"{provider}/{served}" if slash else served
    if qualified in prices.rows:
        return prices.find(qualified)
    if same_model(requested, served):
        return prices.find(requested, served)
    return prices.find(served, requested)


def same_model(requested: str, served: str) -> bool:
    """Return True if the served name is the requested model's, except for a provider, a date or a release number.

    Any other difference is another model: `gpt-5-mini` is not `gpt-5`, and `gpt-4o` is not `gpt-4`.
    """
    bare = re.escape(requested.rpartition("/")[2])
    return re.fullmatch(rf"(?:.*[/.:])?{bare}{_RELEASE}", served, re.IGNORECASE) is not None


def charge(usage: Usage | None, price: ModelPrice, service_tier: str | None = None) -> Charge:
    """Return the costs of a call with this usage at this price."""
    if usage is None or usage.input is None or usage.output is None:
        return Charge(missing=(Missing("usage"),))
    rates = price.rates(usage.prompt, service_tier)
    if rates is None:
        return Charge(missing=(Missing("service_tier", service_tier or ""),))
    reasoning = min(usage.reasoning or 0, usage.output)  # some providers do not include it in the output
    reasoning_rate = rates.output if rates.reasoning is None else rates.reasoning
    parts = (
        ("input", usage.input, rates.input),
        ("cache_read", usage.cache_read, rates.cache_read),
        ("cache_write_5m", usage.cache_write_5m, rates.cache_write_5m),
        ("cache_write_1h", usage.cache_write_1h, rates.cache_write_1h),
        ("output", usage.output - reasoning, rates.output),
        ("reasoning", reasoning, reasoning_rate),
    )
    return Charge(
        computed=_sum(*((tokens, rate) for _, tokens, rate in parts)),
        list=_sum((usage.prompt, rates.input), *((tokens, rate) for _, tokens, rate in parts[-2:])),
        agentmeter=agentmeter_cost(
            usage.prompt,
            (usage.cache_write_5m or 0) + (usage.cache_write_1h or 0),
            usage.cache_read or 0,
            usage.output,
            rates,
        ),
        missing=tuple(Missing("rate", bucket) for bucket, tokens, rate in parts if tokens and rate is None),
    )


def agentmeter_cost(prompt: int, created: int, hit: int, output: int, rates: Rates) -> float | None:
    """Return AgentMeter's cost (arXiv 2606.21140, eq. 2) in US dollars; None if a rate that is needed is unknown.

    N = max(X - A - H, 0) and C = p_in N + p_out Y + p_create A + p_hit H, with X = `prompt` (all tokens of the prompt),
    A = `created` (written to the cache), H = `hit` (read from it) and Y = `output` (with reasoning, at the output
    rate). p_create is a single rate: that of 5 minutes. Cache figures that a trajectory does not expose are not
    imputed: A and H are then 0, and the whole prompt is uncached.

    Retrace applies the formula to each call and adds the results, because rates by prompt size concern single calls. At
    flat rates this equals the formula over a trial's sums, except for calls whose cache exceeds their prompt (N is
    never below 0).
    """
    uncached = max(prompt - created - hit, 0)
    return _sum(
        (uncached, rates.input), (output, rates.output), (created, rates.cache_write_5m), (hit, rates.cache_read)
    )


def _sum(*parts: tuple[int | None, float | None]) -> float | None:
    total = 0.0
    for tokens, rate in parts:
        if not tokens:
            continue
        if rate is None:
            return None
        total += tokens * rate
    return total
