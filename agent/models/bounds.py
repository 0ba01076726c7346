"""The largest possible cost of a trial, from its limits and the price of its model, before it starts."""

from __future__ import annotations

from dataclasses import dataclass

from agent.models.protocol import ModelInfo
from scoring.pricing.rates import BUCKETS, ModelPrice, standard_name
from scoring.pricing.tables import PriceTable
from trajectories.record.events import Limits, ModelRef

FREE_EXPERT = "script"
"""Name of the only model that answers questions and costs nothing."""


@dataclass(frozen=True)
class CostBound:
    """The largest cost of one trial, and where it comes from."""

    usd: float | None
    """US dollars; None if nothing bounds the cost."""
    reason: str

    def of(self, trials: int, cost_limit_usd: float | None) -> float | None:
        """Return the largest cost of this number of trials under a limit on all of them together."""
        alone = None if self.usd is None else self.usd * trials
        bounds = [bound for bound in (alone, cost_limit_usd) if bound is not None]
        return min(bounds, default=None)


def cost_bound(
    model: ModelInfo, limits: Limits, prices: PriceTable, expert: ModelRef | None = None, noun: str = "trial"
) -> CostBound:
    """Return the largest cost of one trial: that of its cost limit, or of its token limit at the highest rate.

    Limits are checked between calls, so the last call of a trial may go beyond. `expert` is a model that trials may
    ask, whose calls no limit of a trial bounds. `noun` is the word for a trial in the reason.
    """
    if expert is not None and expert.name != FREE_EXPERT:
        return CostBound(None, f"the calls of the expert {expert.asked} have no limit")
    if model.free is not None:
        return CostBound(0.0, f"{model.ref.asked} costs nothing")
    bounds = []
    if limits.cost_usd is not None:
        bounds.append(CostBound(limits.cost_usd, f"the cost limit of a {noun} is ${limits.cost_usd:g}"))
    tier = model.parameters.get("service_tier")
    rate = _highest_rate(prices.price(model.ref.name), tier if isinstance(tier, str) else None)
    if limits.tokens is not None and rate is not None:
        text = f"the token limit of a {noun} is {limits.tokens:,}, at most ${rate * 1e6:g} for a million tokens"
        bounds.append(CostBound(limits.tokens * rate, text))
    if bounds:
        return min(bounds, key=lambda bound: bound.usd or 0.0)
    if limits.tokens is not None:
        return CostBound(None, f"{model.ref.name!r} has no known price in {prices.source}")
    return CostBound(None, f"a {noun} has neither a cost limit nor a token limit")


def _highest_rate(price: ModelPrice | None, service_tier: str | None) -> float | None:
    """Return the highest rate of any bucket and size of a prompt; None if the input or the output has no rate."""
    if price is None or None in (price.base.input, price.base.output):
        return None
    steps = price.tiers.get(standard_name(service_tier))
    return None if steps is None else max(rates[name] for _, rates in steps for name in BUCKETS if name in rates)
