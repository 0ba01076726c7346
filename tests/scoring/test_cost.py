"""Cost of a call, from the price table in the wheel and from rows made here."""

from __future__ import annotations

import subprocess
import sys

import pytest

from scoring.pricing.cost import price_call, same_model
from scoring.pricing.tables import PriceTable, wheel_prices
from trajectories.record.usage import Costs, Usage

ROW = {
    "input_cost_per_token": 10e-6,
    "output_cost_per_token": 50e-6,
    "cache_read_input_token_cost": 1e-6,
    "cache_creation_input_token_cost": 12.5e-6,
    "cache_creation_input_token_cost_above_1hr": 20e-6,
    "input_cost_per_token_above_200k_tokens": 20e-6,
    "cache_read_input_token_cost_above_200k_tokens": 2e-6,
    "output_cost_per_token_above_200k_tokens": 75e-6,
}
TABLE = PriceTable("made here", "0", {"m": ROW, "p/served": {**ROW, "input_cost_per_token": 5e-6}})


def test_each_bucket_has_its_own_price_and_list_has_no_discount() -> None:
    usage = Usage(input=100, cache_read=1000, cache_write_5m=10, cache_write_1h=20, output=5, reasoning=3)
    costs = price_call(usage, TABLE, requested="p/m", served=None)
    assert costs.computed == pytest.approx((100 * 10 + 1000 * 1 + 10 * 12.5 + 20 * 20 + 5 * 50) * 1e-6)
    assert costs.list == pytest.approx((1130 * 10 + 5 * 50) * 1e-6)
    assert costs.billed is None


def test_all_tokens_of_a_long_prompt_pay_its_rate() -> None:
    usage = Usage(input=50_000, cache_read=150_001, output=10)
    costs = price_call(usage, TABLE, requested="m", served=None)
    assert costs.computed == pytest.approx((50_000 * 20 + 150_001 * 2 + 10 * 75) * 1e-6)
    at_the_threshold = Usage(input=50_000, cache_read=150_000, output=10)
    costs = price_call(at_the_threshold, TABLE, requested="m", served=None)
    assert costs.computed == pytest.approx((50_000 * 10 + 150_000 * 1 + 10 * 50) * 1e-6)


def test_the_served_model_is_priced_before_the_requested_one() -> None:
    usage = Usage(input=1000, output=0)
    assert price_call(usage, TABLE, requested="p/m", served="served").computed == pytest.approx(0.005)
    assert price_call(usage, TABLE, requested="p/m", served="unheard-of").computed == pytest.approx(0.010)


@pytest.mark.parametrize(
    ("requested", "served", "same"),
    [
        ("openai/gpt-5", "gpt-5-2025-08-07", True),
        ("openai/gpt-4", "gpt-4-0613", True),
        ("anthropic/claude-opus-4-5", "claude-opus-4-5-20251101", True),
        ("bedrock/anthropic.claude-opus-4-5", "us.anthropic.claude-opus-4-5-20251101-v1:0", True),
        ("gemini/gemini-2.5-pro", "models/gemini-2.5-pro", True),
        ("openai/gpt-5", "gpt-5-mini", False),
        ("openai/gpt-5", "gpt-5-mini-2025-08-07", False),
        ("openai/gpt-4", "gpt-4o-2024-08-06", False),
        ("openai/o3", "o3-mini", False),
        ("anthropic/claude-opus-4", "claude-opus-4-5", False),
        ("openai/mini", "gpt-5-mini", False),
    ],
)
def test_a_name_that_only_begins_or_ends_alike_is_another_model(requested: str, served: str, same: bool) -> None:
    """It has its own price: `gpt-5-mini` was once priced as `gpt-5` without a note."""
    assert same_model(requested, served) is same
    cheap = {"input_cost_per_token": 1e-6, "output_cost_per_token": 1e-6}
    table = PriceTable("made here", "0", {requested.rpartition("/")[2]: ROW, served: cheap})
    costs = price_call(Usage(input=1000, output=0), table, requested=requested, served=served)
    assert same or costs.computed == pytest.approx(0.001)


def test_the_list_cost_has_reasoning_at_its_own_rate() -> None:
    """Without a cache, the list cost equals the computed cost."""
    table = PriceTable("made here", "0", {"m": {**ROW, "output_cost_per_reasoning_token": 90e-6}})
    costs = price_call(Usage(input=10, output=8, reasoning=3), table, requested="m", served=None)
    assert costs.list == costs.computed == pytest.approx((10 * 10 + 5 * 50 + 3 * 90) * 1e-6)


def test_more_reasoning_than_output_does_not_make_a_cost_negative() -> None:
    """Some providers count reasoning separately from the output; a record cannot contain a negative cost."""
    table = PriceTable("made here", "0", {"m": {**ROW, "output_cost_per_reasoning_token": 5e-6}})
    costs = price_call(Usage(input=0, output=1, reasoning=50), table, requested="m", served=None)
    assert costs.computed == pytest.approx(5e-6)


@pytest.mark.parametrize(
    ("usage", "model"), [(None, "m"), (Usage(input=1, output=1), "unpriced"), (Usage(input=None, output=1), "m")]
)
def test_an_unknown_cost_is_none_and_never_zero(usage: Usage | None, model: str) -> None:
    costs = price_call(usage, TABLE, requested=model, served=None, billed_usd=0.25)
    assert (costs.billed, costs.computed, costs.list) == (0.25, None, None)


def test_a_sum_of_costs_is_unknown_if_one_of_them_is() -> None:
    total = Costs.sum([Costs(billed=1.0, computed=1.0), Costs(billed=2.0)])
    assert (total.billed, total.computed, total.list) == (3.0, None, None)


def test_the_table_in_the_wheel_is_read_without_importing_litellm() -> None:
    code = "import sys; from scoring.pricing.tables import wheel_prices as w; t = w(); "
    code += "assert 'litellm' not in sys.modules; print(t.source, len(t.rows))"
    process = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert process.stdout.startswith("litellm ")
    assert int(process.stdout.split()[-1]) > 1000


def test_known_prices_of_the_wheel() -> None:
    """Claude Haiku 4.5 costs 1 / 5 dollars per million tokens (from recorded figures)."""
    costs = price_call(
        Usage(input=1_000_000, output=0), wheel_prices(), requested="anthropic/claude-haiku-4-5", served=None
    )
    assert costs.computed == pytest.approx(1.0)
