"""Pricing a record again: known costs, unknown costs, and the reasons for unknown ones."""

from __future__ import annotations

import time

import pytest

from scoring.pricing.cost import Missing, same_model
from scoring.pricing.published import PriceError
from scoring.pricing.repricing import reprice
from scoring.pricing.snapshots import table_of_record
from scoring.pricing.tables import PriceTable
from tests.pace import plain_python_s
from trajectories.errors import RecordError
from trajectories.reading.totals.tally import Tally
from trajectories.record.events import (
    BaseEvent,
    CallFailed,
    CallFinished,
    CallStarted,
    Limits,
    ModelRef,
    PriceRef,
    Reply,
    TaskRef,
    TextRef,
    TrialStarted,
)
from trajectories.record.usage import Costs, Usage

TABLE = PriceTable(
    "here",
    "0" * 64,
    {
        "m": {"input_cost_per_token": 1e-6, "output_cost_per_token": 2e-6, "input_cost_per_token_flex": 5e-7,
              "output_cost_per_token_flex": 1e-6, "cache_read_input_token_cost": 1e-7},
        "other": {"input_cost_per_token": 3e-6, "output_cost_per_token": 3e-6},
    },
)  # fmt: skip
USAGE = Usage(input=100, output=10)


def began(model: str = "m", *, priced: bool = True) -> TrialStarted:
    return TrialStarted(
        trial="t",
        identity="i",
        task=TaskRef(id="task", benchmark="b", digest="d"),
        model=ModelRef(asked=model, name=model),
        prompt=TextRef(name="p", sha256=""),
        limits=Limits(),
        environment="local",
        prices=PriceRef(source="s", sha256="s") if priced else None,
    )


def left(step: int, **parameters: str) -> CallStarted:
    return CallStarted(step=step, message_ids=(), messages=0, messages_sha256="", parameters=parameters)


def came(step: int, usage: Usage | None = USAGE, served: str | None = "m", **costs: float) -> CallFinished:
    return CallFinished(
        step=step, id="x", reply=Reply(), usage=usage, model_requested="m", model_served=served, latency_s=None,
        costs=Costs(**costs),
    )  # fmt: skip


def failed(step: int, error: str, **fields: object) -> CallFailed:
    return CallFailed.model_validate(
        {"step": step, "error": error, "detail": "", "retry": True, "latency_s": None, **fields}
    )


def calls(count: int, **costs: float) -> list[BaseEvent]:
    return [event for step in range(1, count + 1) for event in (left(step), came(step, **costs))]


def test_calls_and_totals() -> None:
    result = reprice([began(), *calls(3, billed=0.5)], TABLE)
    assert result.costs.computed == pytest.approx(3 * 120e-6)
    assert (result.costs.billed, result.agentmeter_usd) == (1.5, pytest.approx(3 * 120e-6))
    assert [call.priced_as for call in result.calls] == ["m"] * 3
    assert (result.unpriced_models, result.gaps, result.unknown_usage_calls, result.substitutions) == ((), (), 0, ())
    assert result.priced_calls == 3


def test_a_call_without_usage_makes_the_totals_unknown_and_is_counted() -> None:
    result = reprice([began(), *calls(2), left(3), came(3, None)], TABLE)
    assert (result.costs.computed, result.costs.list, result.agentmeter_usd) == (None, None, None)
    assert (result.unknown_usage_calls, result.priced_calls) == (1, 2)


def test_a_call_that_was_lost_with_its_process_is_unknown() -> None:
    events = [began(), *calls(1), left(2), left(2), came(2), left(3)]
    result = reprice(events, TABLE)
    assert [call.outcome for call in result.calls] == ["finished", "lost", "finished", "lost"]
    assert (result.unknown_usage_calls, result.costs.computed) == (2, None)
    tally = Tally()
    for event in events[1:]:
        tally.feed(event)
    assert tally.unmetered_calls == result.unknown_usage_calls


def test_failed_tries_count_if_they_may_have_been_billed() -> None:
    billed = failed(1, "malformed", usage={"input": 100, "output": 10}, costs={"billed": 0.25})
    result = reprice([began(), left(1), failed(1, "rate_limit"), left(1), billed, left(1), came(1)], TABLE)
    assert [call.outcome for call in result.calls] == ["failed", "finished"]
    assert result.costs.computed == pytest.approx(2 * 120e-6)
    assert reprice([began(), left(1), failed(1, "timeout")], TABLE).unknown_usage_calls == 1


def test_gaps_are_named_with_their_row() -> None:
    result = reprice([began(), left(1), came(1, Usage(input=1, cache_write_1h=5, output=1))], TABLE)
    assert (result.costs.computed, result.gaps) == (None, (Missing("rate", "cache_write_1h", "m"),))
    assert result.costs.list == pytest.approx(6e-6 + 2e-6)
    result = reprice([began(), left(1, service_tier="priority"), came(1)], TABLE)
    assert (result.costs.list, result.gaps) == (None, (Missing("service_tier", "priority", "m"),))


def test_the_service_tier_is_recorded_or_given_by_the_caller() -> None:
    events = [began(), left(1, service_tier="flex"), came(1)]
    assert reprice(events, TABLE).costs.computed == pytest.approx(60e-6)
    assert reprice(events, TABLE, service_tier="default").costs.computed == pytest.approx(120e-6)


def test_an_unpriced_model_that_was_only_served_is_named() -> None:
    table = PriceTable("t", "", {})
    result = reprice([began(), left(1), came(1, served="unheard-of")], table)
    assert result.unpriced_models == ("unheard-of",)
    assert result.unknown_usage_calls == 0
    (substitution,) = result.substitutions
    assert (substitution.requested, substitution.served, substitution.priced_as, substitution.computed_usd) == (
        "m",
        "unheard-of",
        None,
        None,
    )


def test_another_served_model_is_reported_and_has_its_own_price() -> None:
    result = reprice([began(), left(1), came(1, served="other"), *calls(1)], TABLE)
    (substitution,) = result.substitutions
    assert (substitution.computed_usd, substitution.as_requested_usd) == (pytest.approx(330e-6), pytest.approx(120e-6))
    assert result.costs.computed == pytest.approx(450e-6)


def test_a_dated_name_is_the_same_model() -> None:
    assert reprice([began(), left(1), came(1, served="m-2026-01-01")], TABLE).substitutions == ()


@pytest.mark.parametrize("served", ["m-2026-01-01", "m-20260101", "m@20260101", "m-0905", "m-002", "m-latest", "p/m"])
def test_dates_revisions_and_providers_do_not_make_another_model(served: str) -> None:
    assert same_model("q/m", served)


@pytest.mark.parametrize("served", ["m-mini", "m-5", "m-5-20260101", "mm", "another-m", "m-chat-latest", ""])
def test_any_other_suffix_makes_another_model(served: str) -> None:
    assert not same_model("q/m", served)


def test_free_models_cost_nothing_with_any_table() -> None:
    result = reprice([began("script:x", priced=False), left(1), came(1, billed=0.0), left(2)], TABLE)
    assert (result.costs.computed, result.costs.list, result.agentmeter_usd) == (0.0, 0.0, 0.0)
    assert (result.unpriced_models, result.unknown_usage_calls) == ((), 0)


def test_a_record_without_calls_costs_nothing_and_one_without_a_start_is_rejected() -> None:
    assert reprice([began()], TABLE).costs == Costs(billed=0.0, computed=0.0, list=0.0)
    with pytest.raises(RecordError, match="trial_started"):
        reprice([left(1)], TABLE)


def test_a_thousand_calls_are_priced_quickly() -> None:
    events = [began(), *calls(1000)]
    begin = time.process_time()
    reprice(events, TABLE)
    assert time.process_time() - begin < 20 * plain_python_s()  # 0.02 s on a quiet machine


@pytest.mark.parametrize(
    "rates",
    [
        {"input_cost_per_token": float("nan")},
        {"input_cost_per_token": -1},
        {"input_cost_per_token": "x"},
        {"input": "x"},
        {"input": 1e-6, "per_usd": 0},
        {"input": 1e-6, "tiers": 3},
    ],
)
def test_invalid_prices_in_a_record_are_reported(rates: dict[str, object]) -> None:
    start = began().model_copy(update={"prices": PriceRef(source="s", sha256="s", rates=rates)})
    table = table_of_record(start)
    assert table is not None
    with pytest.raises(PriceError, match="the prices in the record"):
        reprice([start, *calls(1)], table)


def test_a_trial_that_recorded_no_prices_has_no_table() -> None:
    assert table_of_record(began(priced=False)) is None
    unpriced = table_of_record(began())
    assert unpriced is not None
    assert reprice([began(), *calls(1)], unpriced).unpriced_models == ("m",)
