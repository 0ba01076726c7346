"""Running totals of a trial: unknown stays unknown, and only waits that took place count."""

from __future__ import annotations

import pytest

from trajectories.reading.totals.tally import Tally
from trajectories.record.events import ActionStarted, BaseEvent, CallFailed, CallFinished, CallStarted, Exited, Reply
from trajectories.record.exits import Exit
from trajectories.record.usage import Costs, Usage

STARTED = CallStarted(step=1, message_ids=(), messages=0, messages_sha256="", mono_s=10.0)


def failed(error: str, mono_s: float = 11.0, **more: object) -> CallFailed:
    values = {"retry": False, "latency_s": 1.0, **more}
    return CallFailed(step=1, error=error, detail="", mono_s=mono_s, **values)


def finished(mono_s: float, costs: Costs) -> CallFinished:
    usage = Usage(input=10, output=2)
    return CallFinished(
        step=1, id="m1", reply=Reply(), usage=usage, costs=costs, model_requested="m", latency_s=1.0, mono_s=mono_s
    )


def tally(*events: BaseEvent) -> Tally:
    counted = Tally()
    for event in events:
        counted.feed(event)
    return counted


def test_a_call_without_an_outcome_makes_the_costs_unknown_instead_of_zero() -> None:
    counted = tally(STARTED, finished(11.0, Costs(computed=1.0, list=1.0)), STARTED)
    assert counted.costs == Costs()
    assert counted.unmetered_calls == counted.unpriced_calls == 1
    assert counted.spent_usd == 1.0


@pytest.mark.parametrize(
    ("error", "unknown"),
    [
        ("timeout", True),
        ("interrupted", True),
        ("connection", True),
        ("malformed", True),
        ("rate_limit", False),
        ("authentication", False),
        ("server_error", False),
    ],
)
def test_a_failure_that_may_have_been_billed_makes_costs_unknown(error: str, unknown: bool) -> None:
    counted = tally(STARTED, failed(error))
    assert counted.unmetered_calls == int(unknown)
    assert (counted.costs.computed is None) == unknown


def test_a_failure_of_a_free_model_counts_as_no_usage() -> None:
    free = Costs(billed=0.0, computed=0.0, list=0.0)
    counted = tally(STARTED, failed("gave_up", usage=Usage(input=0, output=0), costs=free))
    assert counted.unmetered_calls == 0
    assert counted.costs == free


def test_a_wait_that_was_cut_short_counts_with_its_real_length() -> None:
    events = [
        STARTED,
        finished(11.0, Costs()),
        STARTED.model_copy(update={"mono_s": 13.0}),
        failed("rate_limit", 13.5, retry=True, wait_s=100.0, latency_s=0.5),
        Exited(exit=Exit.of("time"), steps=1, mono_s=14.0),
    ]
    counted = tally(*events)
    assert counted.wall_s() == pytest.approx(4.0)
    assert counted.working_s() == pytest.approx(3.0)


def test_a_wait_that_has_not_ended_is_not_working_time() -> None:
    counted = tally(STARTED, failed("rate_limit", 11.0, retry=True, wait_s=100.0))
    assert counted.wall_s(41.0) == pytest.approx(31.0)
    assert counted.working_s(41.0) == pytest.approx(0.0)


def test_a_command_counts_when_it_has_started() -> None:
    assert tally(ActionStarted(action="1.1", step=1, script="", deadline_s=1.0)).commands == 1
