"""Costs of all calls of a record, and the calls whose cost nobody knows: none is forgotten, and none counts twice."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from tests.batches.files.writing import asked, call
from tests.record.test_recorder import started
from trajectories.reading.totals.spending import Spending, SpendingTally
from trajectories.record.events import (
    BaseEvent,
    CallFailed,
    ModelRef,
    RoleCallFinished,
    RoleCallStarted,
    TextRef,
)
from trajectories.record.roles import Purpose
from trajectories.record.usage import Costs, Usage

SEEN = Usage(input=7, output=3)


def spending(*events: BaseEvent) -> Spending:
    tally = SpendingTally()
    for seq, event in enumerate((started(), *events)):
        tally.feed(event.model_copy(update={"seq": seq}))
    return tally.spending


def failed(error: str, costs: Costs | None = None, usage: Usage | None = None) -> CallFailed:
    return CallFailed(step=1, error=error, detail="x", retry=True, latency_s=1.0, costs=costs, usage=usage)


def role_call(number: int, role: str = "expert") -> RoleCallStarted:
    ref, prompt = ModelRef(asked="e", name="expert-model"), TextRef(name="p", sha256="0")
    return RoleCallStarted(call=number, role=role, purpose=Purpose(), model=ref, prompt=prompt)


def answered(number: int, **fields: object) -> RoleCallFinished:
    return RoleCallFinished(
        **{"call": number, "status": "answered", "usage": SEEN, "costs": Costs(billed=2.0), **fields}
    )


def test_a_record_without_calls_costs_nothing() -> None:
    assert spending() == Spending()
    assert spending().known_usd == 0.0


def test_calls_of_the_agent_and_of_roles_count_once_each() -> None:
    total = spending(*call(1), role_call(1), answered(1), role_call(2, "judge"), answered(2), *call(2))
    assert (total.calls, total.usd, total.known_usd, total.unpriced, total.open) == (4, 5.0, 5.0, 0, ())
    assert (total.usage.input, total.usage.output) == (214, 46)


@pytest.mark.parametrize(
    ("events", "why"),
    [
        ([asked(1)], "in_flight"),
        ([asked(1), failed("timeout")], "timeout"),
        ([asked(1), failed("connection")], "connection"),
        ([asked(1), failed("malformed")], "malformed"),
        ([asked(1), failed("interrupted")], "interrupted"),
        ([asked(1), failed("other", costs=Costs())], "other"),
        (call(1, None, usage=None), "no_usage"),
        ([role_call(1)], "in_flight"),
        ([role_call(1), answered(1, status="failed", error="timeout", usage=None, costs=None)], "timeout"),
        ([role_call(1), answered(1, status="cut_off", usage=None, costs=Costs())], "interrupted"),
        ([role_call(1), answered(1, status="malformed", usage=None, costs=Costs())], "no_usage"),
    ],
)
def test_a_call_that_may_have_been_billed_stays_open(events: Sequence[BaseEvent], why: str) -> None:
    total = spending(*events)
    assert (total.calls, total.usd, total.known_usd) == (1, 0.0, None)
    (call,) = total.open
    assert (call.seq, call.why, call.number, call.try_) == (1, why, 1, 1)
    assert (call.by, call.model) == (
        ("expert", "expert-model") if isinstance(events[0], RoleCallStarted) else ("agent", "m")
    )


@pytest.mark.parametrize(
    "events",
    [
        [asked(1), failed("rate_limit")],
        [asked(1), failed("server_error")],
        [role_call(1), answered(1, status="failed", error="rate_limit", usage=None, costs=None)],
    ],
)
def test_a_call_that_nothing_shows_as_billed_costs_nothing(events: Sequence[BaseEvent]) -> None:
    assert (spending(*events).known_usd, spending(*events).open) == (0.0, ())


def test_a_call_with_usage_and_without_a_price_is_unpriced_and_not_open() -> None:
    total = spending(*call(1, None))
    assert (total.known_usd, total.unpriced, total.open, total.usage.input) == (None, 1, (), 100)


def test_a_failed_try_that_was_billed_counts() -> None:
    total = spending(asked(1), failed("malformed", Costs(computed=0.25), SEEN), asked(1, 2), *call(1)[1:])
    assert (total.calls, total.usd, total.open) == (2, 0.75, ())


def test_a_call_that_was_lost_with_its_process_stays_open_when_another_one_leaves() -> None:
    total = spending(asked(1), *call(1))
    assert (total.calls, total.usd) == (2, 0.5)
    assert [call.seq for call in total.open] == [1]


def test_threads_of_an_agent_have_calls_in_flight_of_their_own() -> None:
    side = asked(1).model_copy(update={"thread": "side"})
    total = spending(asked(1), side, call(1)[1])
    assert [call.seq for call in total.open] == [2]


def test_the_spending_of_several_records_adds_up() -> None:
    parts = [spending(*call(1), asked(2)), spending(*call(1, None)), spending(role_call(1), answered(1))]
    total = Spending.sum(parts)
    assert (total.calls, total.usd, total.unpriced, len(total.open)) == (4, 2.5, 1, 1)
    assert total.usage == spending(*call(1), *call(1), role_call(1), answered(1)).usage
    assert Spending.sum([]) == Spending()


def test_an_open_call_keeps_what_was_reserved_for_it() -> None:
    reserved = {"reserved_usd": 0.75, "reserved_tokens": 900}
    events = (asked(1).model_copy(update=reserved), failed("timeout"), role_call(1).model_copy(update=reserved))
    for open_call in spending(*events).open:
        assert (open_call.reserved_usd, open_call.reserved_tokens) == (0.75, 900)
    assert len(spending(*events).open) == 2
