"""The ledger of a batch: its sums follow the records, and a reservation ends only with a known cost."""

from __future__ import annotations

from hypothesis import given, strategies as st

from agent.batch.sharing.ledger import Amount, Ledger
from agent.trial.gate import CallBound


def test_a_call_fits_until_spent_and_reserved_fill_the_budget() -> None:
    ledger = Ledger(budget_usd=1.0)
    ledger.reserve("a", "unit", CallBound(0.6, 10))
    assert not ledger.fits(CallBound(0.5, 10))
    ledger.settle("a", 0.2, 5)
    assert ledger.fits(CallBound(0.8, 10))
    assert ledger.left_usd == 0.8


def test_an_unknown_cost_keeps_its_reservation_until_the_record_tells_it() -> None:
    ledger = Ledger(budget_usd=1.0)
    ledger.reserve("a", "unit", CallBound(0.6, 10))
    ledger.settle("a", None, None)
    assert (ledger.spent.usd, ledger.kept.usd, ledger.in_flight) == (0.0, 0.6, 0)
    ledger.set_recorded("unit", Amount(0.25, 7), Amount())
    assert (ledger.spent, ledger.left_usd) == (Amount(0.25, 7), 0.75)


def test_a_lost_worker_keeps_the_reservations_of_its_calls() -> None:
    ledger = Ledger(budget_usd=1.0)
    ledger.reserve("a", "lost", CallBound(0.3, 1))
    ledger.reserve("b", "other", CallBound(0.2, 1))
    ledger.release("lost")
    assert (ledger.kept.usd, ledger.reserved.usd, ledger.in_flight) == (0.3, 0.2, 1)


def test_a_call_without_a_bound_never_fits_a_budget_of_its_kind() -> None:
    assert Ledger(budget_usd=1.0).unbounded(CallBound(None, 5)) == "usd"
    assert Ledger(budget_tokens=1).unbounded(CallBound(1.0, None)) == "tokens"
    assert Ledger().fits(CallBound(None, None))


_COSTS = st.lists(st.tuples(st.floats(0, 0.5), st.floats(0, 1), st.sampled_from(["known", "unknown"])), max_size=40)


@given(_COSTS)
def test_priced_calls_never_exceed_the_budget(calls: list[tuple[float, float, str]]) -> None:
    """Each call costs a share of its bound; those that do not fit do not leave."""
    ledger = Ledger(budget_usd=1.0)
    billed = 0.0
    for number, (bound, share, outcome) in enumerate(calls):
        if not ledger.fits(CallBound(bound, 1)):
            continue
        ledger.reserve(number, f"unit{number % 3}", CallBound(bound, 1))
        billed += bound * share
        ledger.settle(number, bound * share if outcome == "known" else None, 1)
        assert ledger.left_usd is not None
        assert 1.0 - ledger.left_usd >= billed - 1e-9
    assert billed <= 1.0 + 1e-6
