"""The largest possible cost of a rollout, before it starts."""

from __future__ import annotations

from typing import Any

import pytest

from agent.models.bounds import cost_bound
from agent.models.free.costs import FREE
from agent.models.protocol import ModelInfo
from scoring.pricing.tables import PriceTable
from trajectories.record.events import Limits, ModelRef
from trajectories.record.usage import Costs

ROW = {
    "input_cost_per_token": 1e-6,
    "output_cost_per_token": 8e-6,
    "input_cost_per_token_above_200k_tokens": 2e-6,
    "output_cost_per_token_above_200k_tokens": 12e-6,
    "output_cost_per_token_flex": 4e-6,
    "input_cost_per_token_flex": 1e-6,
}


def bound(
    limits: Limits, row: dict[str, Any] | None = ROW, *, free: Costs | None = None, **parameters: object
) -> float | None:
    model = ModelInfo(ModelRef(asked="m", name="p/m"), "tool", free=free, parameters=parameters)
    prices = PriceTable("table", "0", {} if row is None else {"p/m": row})
    return cost_bound(model, limits, prices).of(10, None)


def test_a_free_model_costs_nothing() -> None:
    assert bound(Limits(), None, free=FREE) == 0


def test_the_cost_limit_of_each_child_bounds_the_cost() -> None:
    assert bound(Limits(cost_usd=2.5), None) == 25


def test_a_token_limit_is_priced_at_the_highest_rate() -> None:
    assert bound(Limits(tokens=1_000_000)) == pytest.approx(120)
    assert bound(Limits(tokens=1_000_000), service_tier="flex") == pytest.approx(40)
    assert bound(Limits(tokens=1_000_000, cost_usd=2.0)) == 20, "the lesser of both"


@pytest.mark.parametrize(
    ("limits", "row"),
    [
        (Limits(), ROW),
        (Limits(tokens=1000), None),
        (Limits(tokens=1000), {"input_cost_per_token": 1e-6}),
    ],
)
def test_without_a_limit_or_a_price_the_cost_is_unknown(limits: Limits, row: dict[str, Any] | None) -> None:
    assert bound(limits, row) is None


def test_a_limit_on_all_children_bounds_any_cost() -> None:
    model = ModelInfo(ModelRef(asked="m", name="p/m"), "tool")
    unknown = cost_bound(model, Limits(), PriceTable("table", "0", {}))
    assert (unknown.usd, unknown.of(10, 3.0)) == (None, 3.0)
    assert cost_bound(model, Limits(cost_usd=0.1), PriceTable("table", "0", {})).of(10, 3.0) == pytest.approx(1)
