"""A record priced again: what is known, what is not and why, and that nothing is hidden."""

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
from trajectories.reading.tally import Tally
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


def failed(step: int, error: str, **known: object) -> CallFailed:
    return CallFailed.model_validate(
        {"step": step, "error": error, "detail": "", "retry": True, "latency_s": None, **known}
    )


def calls(count: int, **costs: float) -> list[BaseEvent]:
    return [event for step in range(1, count + 1) for event in (left(step), came(step, **costs))]


def test_calls_and_totals() -> None:
    found = reprice([began(), *calls(3, billed=0.5)], TABLE)
    assert found.costs.computed == pytest.approx(3 * 120e-6)
    assert (found.costs.billed, found.agentmeter_usd) == (1.5, pytest.approx(3 * 120e-6))
    assert [call.priced_as for call in found.calls] == ["m"] * 3
    assert (found.unpriced_models, found.gaps, found.unknown_usage_calls, found.substitutions) == ((), (), 0, ())
    assert found.priced_calls == 3


def test_a_call_without_usage_makes_the_totals_unknown_and_is_counted() -> None:
    found = reprice([began(), *calls(2), left(3), came(3, None)], TABLE)
    assert (found.costs.computed, found.costs.list, found.agentmeter_usd) == (None, None, None)
    assert (found.unknown_usage_calls, found.priced_calls) == (1, 2)


def test_a_call_that_was_lost_with_its_process_is_unknown() -> None:
    events = [began(), *calls(1), left(2), left(2), came(2), left(3)]
    found = reprice(events, TABLE)
    assert [call.outcome for call in found.calls] == ["finished", "lost", "finished", "lost"]
    assert (found.unknown_usage_calls, found.costs.computed) == (2, None)
    tally = Tally()
    for event in events[1:]:
        tally.feed(event)
    assert tally.unmetered_calls == found.unknown_usage_calls


def test_failed_tries_count_where_they_may_have_been_billed() -> None:
    billed = failed(1, "malformed", usage={"input": 100, "output": 10}, costs={"billed": 0.25})
    found = reprice([began(), left(1), failed(1, "rate_limit"), left(1), billed, left(1), came(1)], TABLE)
    assert [call.outcome for call in found.calls] == ["failed", "finished"]
    assert found.costs.computed == pytest.approx(2 * 120e-6)
    assert reprice([began(), left(1), failed(1, "timeout")], TABLE).unknown_usage_calls == 1


def test_gaps_are_named_with_their_row() -> None:
    found = reprice([began(), left(1), came(1, Usage(input=1, cache_write_1h=5, output=1))], TABLE)
    assert (found.costs.computed, found.gaps) == (None, (Missing("rate", "cache_write_1h", "m"),))
    assert found.costs.list == pytest.approx(6e-6 + 2e-6)
    found = reprice([began(), left(1, service_tier="priority"), came(1)], TABLE)
    assert (found.costs.list, found.gaps) == (None, (Missing("service_tier", "priority", "m"),))


def test_the_service_tier_is_the_records_or_the_one_that_is_asked_for() -> None:
    events = [began(), left(1, service_tier="flex"), came(1)]
    assert reprice(events, TABLE).costs.computed == pytest.approx(60e-6)
    assert reprice(events, TABLE, service_tier="default").costs.computed == pytest.approx(120e-6)


def test_an_unpriced_model_is_named_also_where_it_was_served_only() -> None:
    table = PriceTable("t", "", {})
    found = reprice([began(), left(1), came(1, served="unheard-of")], table)
    assert found.unpriced_models == ("unheard-of",)
    assert found.unknown_usage_calls == 0
    (one,) = found.substitutions
    assert (one.requested, one.served, one.priced_as, one.computed_usd) == ("m", "unheard-of", None, None)


def test_another_model_is_priced_as_itself_and_said() -> None:
    found = reprice([began(), left(1), came(1, served="other"), *calls(1)], TABLE)
    (one,) = found.substitutions
    assert (one.computed_usd, one.as_requested_usd) == (pytest.approx(330e-6), pytest.approx(120e-6))
    assert found.costs.computed == pytest.approx(450e-6)


def test_a_dated_name_of_the_requested_model_is_no_other_model() -> None:
    assert reprice([began(), left(1), came(1, served="m-2026-01-01")], TABLE).substitutions == ()


@pytest.mark.parametrize("served", ["m-2026-01-01", "m-20260101", "m@20260101", "m-0905", "m-002", "m-latest", "p/m"])
def test_dates_revisions_and_providers_leave_a_model_itself(served: str) -> None:
    assert same_model("q/m", served)


@pytest.mark.parametrize("served", ["m-mini", "m-5", "m-5-20260101", "mm", "another-m", "m-chat-latest", ""])
def test_what_else_follows_a_name_is_another_model(served: str) -> None:
    assert not same_model("q/m", served)


def test_models_that_cost_nothing_cost_nothing() -> None:
    found = reprice([began("script:x", priced=False), left(1), came(1, billed=0.0), left(2)], TABLE)
    assert (found.costs.computed, found.costs.list, found.agentmeter_usd) == (0.0, 0.0, 0.0)
    assert (found.unpriced_models, found.unknown_usage_calls) == ((), 0)


def test_no_calls_cost_nothing_and_no_record_is_refused() -> None:
    assert reprice([began()], TABLE).costs == Costs(billed=0.0, computed=0.0, list=0.0)
    with pytest.raises(RecordError, match="trial_started"):
        reprice([left(1)], TABLE)


def test_a_thousand_calls_are_priced_at_once() -> None:
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
def test_damaged_prices_in_a_record_are_said(rates: dict[str, object]) -> None:
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
