"""The price of a call: one rule for the agent's calls and for every role beside it."""

from __future__ import annotations

from dataclasses import dataclass

from agent.models.protocol import CallFailure, ModelInfo
from scoring.pricing.cost import price_call
from scoring.pricing.tables import PriceTable
from trajectories.record.usage import Costs, Usage


@dataclass(frozen=True)
class CallPricing:
    """Prices the calls of one model. Costs are in US dollars, and None is unknown."""

    model: ModelInfo
    prices: PriceTable

    def costs(self, usage: Usage | None, *, served: str | None = None, billed_usd: float | None = None) -> Costs:
        """Return the costs of a call that a model completed; nothing for a model that is free."""
        if self.model.free is not None:
            return self.model.free
        tier = self.model.parameters.get("service_tier")
        return price_call(
            usage,
            self.prices,
            requested=self.model.ref.name,
            served=served,
            billed_usd=billed_usd,
            service_tier=tier if isinstance(tier, str) else None,
        )

    def failure_costs(self, failure: CallFailure) -> Costs | None:
        """Return the costs of a failed try; None if the provider reported neither usage nor a bill."""
        if self.model.free is not None:
            return self.model.free
        if failure.usage is None and failure.billed_usd is None:
            return None
        return self.costs(failure.usage, billed_usd=failure.billed_usd)
