"""Properties of costs that hold for all usages and rates."""

from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

from scoring.pricing.cost import Missing, agentmeter_cost, charge
from scoring.pricing.rates import BUCKETS, Rates, price_of_steps
from trajectories.record.usage import Usage

TOKENS = st.integers(0, 2_000_000)
RATE = st.floats(1e-9, 1e-3)
FULL = st.fixed_dictionaries(dict.fromkeys(BUCKETS, RATE))
FLAT = FULL.map(lambda rates: price_of_steps({"": {0: rates}}))
BOTH = ("computed", "list", "agentmeter")


@st.composite
def usages(draw: st.DrawFn) -> Usage:
    counts = {name: draw(TOKENS) for name in BUCKETS if name != "reasoning"}
    return Usage(**counts, reasoning=draw(st.integers(0, counts["output"])))


@given(usages(), FULL, st.integers(2, 50))
def test_costs_are_proportional_to_prices(usage: Usage, rates: dict[str, float], factor: int) -> None:
    once = charge(usage, price_of_steps({"": {0: rates}}))
    more = charge(usage, price_of_steps({"": {0: {name: rate * factor for name, rate in rates.items()}}}))
    for figure in BOTH:
        assert getattr(more, figure) == pytest.approx(getattr(once, figure) * factor)


@given(usages(), FLAT, st.sampled_from([name for name in BUCKETS if name != "reasoning"]), st.integers(1, 10**6))
def test_more_tokens_never_cost_less(usage: Usage, price, bucket: str, extra: int) -> None:
    more = usage.model_copy(update={bucket: getattr(usage, bucket) + extra})
    for figure in BOTH:
        assert getattr(charge(more, price), figure) >= getattr(charge(usage, price), figure)


@given(st.lists(usages(), max_size=6), FLAT)
def test_at_flat_rates_the_calls_add_up_to_the_trial(calls: list[Usage], price) -> None:
    whole = charge(Usage.sum([Usage(input=0, output=0), *calls]), price)
    for figure in BOTH:
        assert getattr(whole, figure) == pytest.approx(sum(getattr(charge(call, price), figure) for call in calls))


@given(usages(), FULL, st.sampled_from(BUCKETS))
def test_a_missing_rate_that_is_needed_is_named_and_makes_the_cost_unknown(
    usage: Usage, rates: dict[str, float], gone: str
) -> None:
    charged = charge(usage, price_of_steps({"": {0: {name: rate for name, rate in rates.items() if name != gone}}}))
    counted = usage.output - usage.reasoning if gone == "output" else getattr(usage, gone)
    if counted and gone != "reasoning":
        assert charged.computed is None
        assert charged.missing == (Missing("rate", gone),)
    elif gone != "output":
        assert charged.computed is not None


@given(TOKENS, TOKENS, TOKENS, TOKENS, FULL)
def test_agentmeter_is_equation_2(x: int, a: int, h: int, y: int, rates: dict[str, float]) -> None:
    p = Rates(**rates)
    n = max(x - a - h, 0)
    expected = p.input * n + p.output * y + p.cache_write_5m * a + p.cache_read * h
    assert agentmeter_cost(x, a, h, y, p) == pytest.approx(expected)


def test_agentmeter_does_not_impute_a_cache_that_is_not_exposed() -> None:
    rates = Rates(input=1e-6, output=2e-6)  # and needs no rate for it
    usage = Usage(input=1000, output=10)
    assert agentmeter_cost(usage.prompt, 0, 0, 10, rates) == pytest.approx(1000e-6 + 20e-6)
    assert charge(usage, price_of_steps({"": {0: {"input": 1e-6, "output": 2e-6}}})).agentmeter == pytest.approx(
        1020e-6
    )


def test_agentmeter_bills_reasoning_as_output_and_every_write_at_one_rate() -> None:
    price = price_of_steps({"": {0: {"input": 1e-6, "output": 2e-6, "reasoning": 9e-6, "cache_write_5m": 3e-6}}})
    usage = Usage(input=0, output=10, reasoning=10, cache_write_1h=5)
    charged = charge(usage, price)
    assert charged.agentmeter == pytest.approx(10 * 2e-6 + 5 * 3e-6)
    assert charged.missing == (Missing("rate", "cache_write_1h"),)
    assert charged.computed is None


@given(usages(), FULL, FULL, st.integers(1, 4_000_000))
def test_the_size_of_the_prompt_chooses_the_rates_of_the_whole_call(usage, low, high, above) -> None:
    price = price_of_steps({"": {0: low, above: high}})
    expected = charge(usage, price_of_steps({"": {0: high if usage.prompt > above else low}}))
    assert charge(usage, price) == expected


def test_a_service_tier_has_its_own_rates_or_none() -> None:
    price = price_of_steps({"": {0: {"input": 2e-6, "output": 4e-6}}, "batch": {0: {"input": 1e-6, "output": 2e-6}}})
    usage = Usage(input=100, output=10)
    assert charge(usage, price, "batches").computed == pytest.approx(120e-6)
    assert charge(usage, price, "default").computed == pytest.approx(240e-6)
    assert charge(usage, price, "priority").missing == (Missing("service_tier", "priority"),)
    cached = Usage(input=100, cache_read=1, output=10)
    assert charge(cached, price, "batch").computed is None
