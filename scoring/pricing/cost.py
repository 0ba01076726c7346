"""Usage times prices: the dollars of one call.

Pure functions. A bucket or a price that is unknown makes the figure unknown, never smaller.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from scoring.pricing.rates import ModelPrice, Rates
from scoring.pricing.tables import PriceTable
from trajectories.record.usage import Costs, Usage

_RELEASE = r"(?:[-@:](?:\d{4}-\d\d-\d\d|\d\d-\d{4}|\d\d-\d\d|\d{8}|\d{6}|\d{3,4}|latest))?(?:-v\d+(?::\d+)?)?"
"""`-20251101`, `-2025-08-07`, `-08-2024`, `-05-06`, `@20251101`, `-0613`, `-001`, `-latest`, and Bedrock's `-v1:0`."""


@dataclass(frozen=True)
class Charge:
    """What one call costs at one model's rates, US dollars; None is unknown, and `missing` says why."""

    computed: float | None = None
    """Reads and writes of the cache and reasoning at their own rates."""
    list: float | None = None
    """The whole prompt at the rate of uncached input."""
    agentmeter: float | None = None
    """`agentmeter_cost`."""
    missing: tuple[str, ...] = ()
    """For instance `usage`, `rate of cache_write_1h`, `service tier flex`."""


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

    `computed` and `list` are None without usage or a price, also where the table has none for this service tier.
    """
    found = find_price(prices, requested, served)
    if found is None:
        return Costs(billed=billed_usd)
    charged = charge(usage, found[1], service_tier)
    return Costs(billed=billed_usd, computed=charged.computed, list=charged.list)


def find_price(prices: PriceTable, requested: str, served: str | None) -> tuple[str, ModelPrice] | None:
    """The price of a call, and the name of its row; None where neither model has one.

    The served model's row under the requested one's provider; a dated name of the requested model is that model.
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
    """Whether the served name is the requested model's own, perhaps with a provider, a date or a release number.

    More than that is another model: `gpt-5-mini` is not `gpt-5`, `gpt-4o` not `gpt-4`.
    """
    bare = re.escape(requested.rpartition("/")[2])
    return re.fullmatch(rf"(?:.*[/.:])?{bare}{_RELEASE}", served, re.IGNORECASE) is not None


def charge(usage: Usage | None, price: ModelPrice, service_tier: str | None = None) -> Charge:
    """What a call of this usage costs at this price."""
    if usage is None or usage.input is None or usage.output is None:
        return Charge(missing=("usage",))
    rates = price.rates(usage.prompt, service_tier)
    if rates is None:
        return Charge(missing=(f"service tier {service_tier}",))
    reasoning = min(usage.reasoning or 0, usage.output)  # some providers count it beside the output
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
        missing=tuple(f"rate of {bucket}" for bucket, tokens, rate in parts if tokens and rate is None),
    )


def agentmeter_cost(prompt: int, created: int, hit: int, output: int, rates: Rates) -> float | None:
    """AgentMeter's cost (arXiv 2606.21140, eq. 2), US dollars; None where a rate that is needed is unknown.

    N = max(X - A - H, 0) and C = p_in N + p_out Y + p_create A + p_hit H, with X = `prompt` (all tokens of the prompt),
    A = `created` (written to the cache), H = `hit` (read from it) and Y = `output` (reasoning included, at the output
    rate). p_create is one rate: that of 5 minutes. Cache figures that a trajectory does not expose are not imputed: A
    and H are then 0 and the whole prompt is uncached.

    Retrace applies it to each call and adds up, because rates by the size of a prompt are a matter of one call. At flat
    rates this equals the formula over a trial's sums, but for calls whose cache exceeds their
    prompt (N is never below 0).
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
