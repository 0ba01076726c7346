"""Admission of calls: in order, within the budget, and no more at a provider than it answers."""

from __future__ import annotations

from agent.batch.sharing.admission import Admission, Asked, Decision
from agent.batch.sharing.concurrency import FIRST_LIMIT, Provider
from agent.batch.sharing.ledger import Ledger
from agent.trial.gate import CallBound


def _asked(number: int, usd: float = 0.1, model: str = "openai/m") -> Asked:
    return Asked(("w", number), f"unit{number}", model, CallBound(usd, 10))


def test_a_call_waits_for_one_in_flight_that_may_use_less_than_it_reserved() -> None:
    admission = Admission(Ledger(budget_usd=1.0))
    assert admission.ask(_asked(1, 0.8), 0) == [Decision(("w", 1))]
    assert admission.ask(_asked(2, 0.5), 0) == []
    assert admission.settle(("w", 1), 1, usd=0.3, tokens=1) == [Decision(("w", 2))]


def test_a_call_is_refused_when_nothing_in_flight_could_make_room() -> None:
    admission = Admission(Ledger(budget_usd=1.0))
    admission.ask(_asked(1, 0.8), 0)
    admission.ask(_asked(2, 0.5), 0)
    (decision,) = admission.settle(("w", 1), 1, usd=0.8, tokens=1)
    assert (decision.call, decision.refused) == (("w", 2), "budget")
    assert "$0.2000 of $1 are left, the next call may cost $0.5000" in decision.reason


def test_a_permanent_failure_stops_the_model_and_no_other() -> None:
    admission = Admission(Ledger())
    admission.ask(_asked(1), 0)
    admission.settle(("w", 1), 1, usd=0.0, tokens=0, status=401, permanent="the key was rejected")
    assert admission.ask(_asked(2), 2) == [Decision(("w", 2), "model_unavailable", "the key was rejected")]
    assert admission.ask(_asked(3, model="openai/other"), 2) == [Decision(("w", 3))]


def test_calls_beyond_the_limit_of_a_provider_leave_in_order_as_others_end() -> None:
    admission = Admission(Ledger())
    left = [decision.call[1] for number in range(FIRST_LIMIT + 3) for decision in admission.ask(_asked(number), 0)]
    assert left == list(range(FIRST_LIMIT))
    assert admission.settle(("w", 0), 1, usd=0.1, tokens=1) == [
        Decision(("w", FIRST_LIMIT)),
        Decision(("w", FIRST_LIMIT + 1)),
    ]


def test_a_429_halves_the_limit_once_for_all_calls_that_left_before() -> None:
    provider = Provider()
    for _ in range(FIRST_LIMIT):
        provider.sent()
    for _ in range(4):
        provider.ended(0.0, 1.0, status=429)
    assert provider.limit == FIRST_LIMIT / 2
    provider.sent()
    provider.ended(2.0, 3.0, status=429)
    assert provider.limit == FIRST_LIMIT / 4


def test_retry_after_closes_a_provider_for_everybody_until_its_time() -> None:
    admission = Admission(Ledger())
    admission.ask(_asked(1), 0)
    admission.settle(("w", 1), 1, usd=0.0, tokens=0, status=429, retry_after_s=30)
    assert admission.ask(_asked(2), 2) == []
    assert admission.next_change_s(2) == 31
    assert admission.decide(31) == [Decision(("w", 2))]


def test_a_lost_worker_frees_its_places_and_keeps_its_reservations() -> None:
    admission = Admission(Ledger(budget_usd=1.0))
    admission.ask(_asked(1, 0.6), 0)
    admission.forget("unit1", 1)
    assert admission.providers["openai"].in_flight == 0
    assert admission.ledger.kept.usd == 0.6
    (decision,) = admission.ask(_asked(2, 0.5), 2)
    assert decision.refused == "budget"
