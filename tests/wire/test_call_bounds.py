"""The bound of a call: the provider's bill at list price never exceeds it, however odd the conversation is."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

from agent.models.call_bounds import CallBounds, output_limit
from agent.models.growing import Entry
from agent.models.protocol import AssistantTurn, ModelInfo
from agent.trial.gate import CallBound
from agent.trial.priced import CallPricing
from scoring.pricing.tables import PriceTable, wheel_prices
from tests.wire.replies import Turn
from tests.wire.talk import Talk, talking
from trajectories.record.events import Message, ModelRef, Reply
from trajectories.record.usage import Usage

ODD = ["", "\n" * 300, '"\\' * 200, "\x00\x1b\x7f" * 50, "é😀漢字" * 60, "a" * 5000]
TEXTS = st.text(max_size=200) | st.sampled_from(ODD)
OBJECTS = TEXTS.map(lambda text: json.dumps({"command": text})) | st.just('{"a":[1,2,3,4,5,6,7,8,9],"command":"x"}')
BROKEN = st.sampled_from(["", "{", "[1,2,3]", '{"command": ' + "[" * 60 + "]" * 60 + "}"])


def conversations(names: Sequence[str], arguments: st.SearchStrategy[str]) -> st.SearchStrategy[list[tuple[str, Turn]]]:
    turns = st.builds(
        Turn,
        text=TEXTS,
        thinking=st.sampled_from(["", "What now?", "hm " * 400]),
        raw_calls=st.lists(st.tuples(st.sampled_from(names), arguments), max_size=3).map(tuple),
        no_usage=st.booleans(),
    )
    return st.lists(st.tuples(TEXTS, turns), min_size=1, max_size=5)


ANY = conversations(["bash", "other tool", ""], OBJECTS | BROKEN)
WITH_OBJECTS = conversations(["bash"], OBJECTS)
"""Anthropic's arguments are objects, not texts."""
MODELS = {
    "chat": ("openai/gpt-4.1", {}),
    "responses": ("openai/gpt-5.4", {"api": "responses"}),
    "anthropic": ("anthropic/claude-opus-4-7", {}),
    "anthropic, 1h": ("anthropic/claude-opus-4-7", {"cache": "1h"}),
    "anthropic, off": ("anthropic/claude-opus-4-7", {"cache": "off"}),
}


def asked(talk: Talk, bounds: CallBounds) -> None:
    """Make a call, and compare what it used with its bound."""
    bound, sent = bounds.next(talk.history), len(talk.history)
    usage = talk.ask().usage
    counted = talk.server.requests[-1].counted
    assert counted is not None
    assert bound.tokens is not None
    assert bound.usd is not None
    assert counted.prompt <= bound.tokens - (output_limit(talk.model.info) or 0)
    if usage is not None:
        cost = CallPricing(talk.model.info, wheel_prices()).costs(usage).best
        assert cost is not None
        assert usage.total <= bound.tokens
        assert cost <= bound.usd
    bounds.answered(sent, usage)


@pytest.mark.parametrize("model", MODELS)
@given(data=st.data())
@settings(max_examples=20, deadline=None, suppress_health_check=list(HealthCheck))
def test_no_call_is_billed_beyond_its_bound(model: str, data: st.DataObject) -> None:
    name, own = MODELS[model]
    conversation = data.draw(WITH_OBJECTS if model.startswith("anthropic") else ANY)
    with talking(model.partition(",")[0], [turn for _, turn in conversation], name=name, **own) as talk:
        bounds = CallBounds(talk.model.info, wheel_prices())
        for text, _ in conversation:
            talk.say("user", text, "observation")
            asked(talk, bounds)


def test_the_bound_follows_what_is_known_and_does_not_grow_with_the_conversation() -> None:
    """Bytes are about four times the tokens, but only those of the last step count."""
    work = [Turn(text="I look at the next file.", commands=("sed -n 1,80p file.py",))] * 60
    with talking("anthropic", work) as talk:
        bounds = CallBounds(talk.model.info, wheel_prices())
        beyond = []
        for _ in work:
            bound, sent = bounds.next(talk.history), len(talk.history)
            usage = talk.ask().usage
            assert usage is not None
            assert bound.tokens is not None
            beyond.append(bound.tokens - (output_limit(talk.model.info) or 0) - usage.prompt)
            bounds.answered(sent, usage)
    assert min(beyond) >= 0
    assert max(beyond[1:]) < 1000
    assert beyond[-1] <= beyond[1] + 10


class Looked(list[Entry]):
    """A conversation that counts the entries that are looked at."""

    count = 0

    def __getitem__(self, index: Any) -> Any:
        part = super().__getitem__(index)
        self.count += len(part) if isinstance(index, slice) else 1
        return part

    def __iter__(self) -> Any:
        raise AssertionError("every entry is looked at")


def info(parameters: dict[str, Any] | None = None, name: str = "anthropic/claude-opus-4-7") -> ModelInfo:
    return ModelInfo(ModelRef(asked=name, name=name, settings={}), "tool", parameters=parameters or {})


def test_each_entry_is_looked_at_once() -> None:
    turns, bounds = Looked(), CallBounds(info(), wheel_prices())
    for step in range(300):
        turns.append(Message(id=f"m{step}", role="user", content="go on", why="observation"))
        bounds.next(turns)
        turns.append(AssistantTurn(f"a{step}", Reply(text="yes")))
    assert turns.count <= 600


@pytest.mark.parametrize(
    ("parameters", "limit"),
    [
        ({"max_tokens": 500}, 500),
        ({"max_completion_tokens": 600}, 600),
        ({"extra_body": {"max_output_tokens": 700}}, 700),
        ({"max_tokens": "many"}, None),
    ],
)
def test_the_output_is_bounded_by_the_parameters_of_the_request(parameters: dict[str, Any], limit: int | None) -> None:
    assert output_limit(info(parameters)) == limit


def test_the_output_is_bounded_by_the_catalog_otherwise_and_nothing_bounds_that_of_an_unknown_model() -> None:
    assert output_limit(info()) == wheel_prices().rows["claude-opus-4-7"]["max_output_tokens"]
    assert output_limit(info(name="openai/gpt-wire")) is None
    assert CallBounds(info(name="openai/gpt-wire"), wheel_prices()).next([]) == CallBound()


def test_tokens_are_bounded_without_a_price_and_dollars_are_not() -> None:
    bound = CallBounds(info({"max_tokens": 100}, "openai/gpt-wire"), wheel_prices()).next([])
    assert bound.usd is None
    assert bound.tokens is not None
    assert bound.tokens > 100


def table(**rates: float) -> PriceTable:
    return PriceTable("test", "0" * 64, {"m": {"input_cost_per_token": 1.0, "output_cost_per_token": 2.0, **rates}})


def bound_of(prices: PriceTable, usage: Usage, turns: Sequence[Entry] = (), **parameters: Any) -> tuple[int, float]:
    """Return the prompt of a bound in tokens, and its cost, after a call with this usage."""
    bounds = CallBounds(info({"max_tokens": 10, **parameters}, "m"), prices)
    bounds.answered(0, usage)
    bound = bounds.next(turns)
    assert bound.tokens is not None
    assert bound.usd is not None
    return bound.tokens - 10, bound.usd


def test_the_highest_rate_that_applies_is_that_of_a_cache_write_of_the_life_that_is_asked_for() -> None:
    prices = table(cache_creation_input_token_cost=1.25, cache_creation_input_token_cost_above_1hr=2.0)
    assert bound_of(prices, Usage(input=100, output=0)) == (100, 100 * 1.25 + 20)
    assert bound_of(prices, Usage(input=100, output=0), cache="1h") == (100, 100 * 2.0 + 20)


def test_a_long_prompt_is_bounded_at_the_rates_of_its_size_and_tier() -> None:
    prices = table(
        input_cost_per_token_above_200k_tokens=3.0,
        output_cost_per_token_above_200k_tokens=5.0,
        input_cost_per_token_priority=7.0,
        output_cost_per_token_priority=8.0,
        output_cost_per_reasoning_token=4.0,
    )
    assert bound_of(prices, Usage(input=200_000, output=0)) == (200_000, 200_000 * 1.0 + 10 * 4.0)
    assert bound_of(prices, Usage(input=200_001, output=0)) == (200_001, 200_001 * 3.0 + 10 * 5.0)
    assert bound_of(prices, Usage(input=9, output=0), service_tier="priority") == (9, 9 * 7.0 + 10 * 8.0)


def test_what_the_model_thought_counts_as_sent_back() -> None:
    """A sealed form of its thoughts may be shorter than their tokens."""
    assert bound_of(table(), Usage(input=100, output=5000, reasoning=4990))[0] == 5100


def test_a_call_may_cost_what_the_model_costs_that_served_the_one_before() -> None:
    rows = {"m": {"input_cost_per_token": 1.0, "output_cost_per_token": 2.0}}
    rows["large"] = {"input_cost_per_token": 10.0, "output_cost_per_token": 20.0}
    bounds = CallBounds(info({"max_tokens": 10}, "m"), PriceTable("test", "0" * 64, rows))
    bounds.answered(0, Usage(input=100, output=0), "m-2025-01-01")
    assert bounds.next([]) == CallBound(120.0, 110)
    bounds.answered(0, Usage(input=100, output=0), "large")
    assert bounds.next([]) == CallBound(1200.0, 110)
