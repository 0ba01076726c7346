"""The plan of a rollout: rounds, precision, limits and failures, for any order in which children end."""

from __future__ import annotations

import random

import pytest
from hypothesis import given, settings, strategies as st

from agent.errors import UserError
from agent.rollout.plan import FAILURES, Count, Ended, RolloutPlan
from agent.rollout.points import parse_steps

STEPS = st.lists(st.integers(0, 99), min_size=1, max_size=5, unique=True).map(sorted)


def run(plan: RolloutPlan, ends: random.Random, width: int, *, usd: float = 0.0, fails: float = 0.0) -> list[int]:
    """Run a plan with at most `width` children at once, which end in any order; return the steps in order."""
    running: list[int] = []
    order: list[int] = []
    while True:
        step = plan.next() if len(running) < width else None
        if step is not None:
            plan.start()
            running.append(step)
            order.append(step)
        elif running:
            step = running.pop(ends.randrange(len(running)))
            failed = ends.random() < fails
            plan.end(Ended(step, None if failed else ends.random() < 0.5, cost_usd=usd, failed=failed))
        else:
            return order


@given(STEPS, st.integers(1, 6), st.integers(1, 4), st.randoms(use_true_random=False))
def test_every_step_runs_equally_often_in_rounds(steps: list[int], times: int, width: int, ends: random.Random) -> None:
    plan = RolloutPlan(steps, times)
    assert run(plan, ends, width) == steps * times
    assert plan.stopped == "times"
    assert plan.started == plan.planned


@given(STEPS, st.integers(1, 30), st.integers(1, 4), st.floats(0.05, 0.45), st.randoms(use_true_random=False))
def test_a_precision_stops_only_between_rounds_and_only_when_it_is_reached(
    steps: list[int], times: int, width: int, precision: float, ends: random.Random
) -> None:
    plan = RolloutPlan(steps, times, precision=precision)
    order = run(plan, ends, width)
    assert order == (steps * times)[: len(order)]
    assert len(order) % len(steps) == 0, "rounds are whole"
    widths = [count.half_width for count in plan._counts.values()]
    assert (plan.stopped == "precision") == all(width <= precision for width in widths)
    assert plan.stopped in ("precision", "times")


@given(STEPS, st.integers(1, 20), st.floats(0.01, 5), st.floats(0.01, 5), st.randoms(use_true_random=False))
def test_a_cost_limit_is_exceeded_by_no_more_than_the_child_that_reaches_it(
    steps: list[int], times: int, limit: float, usd: float, ends: random.Random
) -> None:
    plan = RolloutPlan(steps, times, cost_limit_usd=limit)
    order = run(plan, ends, 1, usd=usd)
    assert (len(order) - 1) * usd < limit or len(order) == 1
    if plan.stopped == "cost_limit":
        assert len(order) * usd >= limit - 1e-6
    else:
        assert len(order) == plan.planned


@settings(max_examples=50)
@given(STEPS, st.integers(1, 20), st.randoms(use_true_random=False))
def test_failures_in_a_row_end_a_run(steps: list[int], times: int, ends: random.Random) -> None:
    plan = RolloutPlan(steps, times)
    order = run(plan, ends, 1, fails=1.0)
    assert len(order) == min(FAILURES, plan.planned)
    assert plan.stopped == ("infrastructure" if plan.planned >= FAILURES else "times")


def test_one_failure_between_results_ends_nothing() -> None:
    plan = RolloutPlan([1, 2], 3)
    for number in range(6):
        step = plan.next()
        assert step is not None
        plan.start()
        plan.end(Ended(step, None if number % 2 else True, failed=bool(number % 2)))
    assert plan.stopped == "times"


def test_an_interrupt_ends_a_run() -> None:
    plan = RolloutPlan([1], 3)
    plan.start()
    plan.end(Ended(1, None, interrupted=True))
    assert (plan.next(), plan.stopped) == (None, "interrupted")


def test_results_of_earlier_runs_count_towards_the_precision() -> None:
    before = {1: Count(0, 100), 2: Count(0, 100)}
    plan = RolloutPlan([1, 2], 5, before=before, precision=0.05)
    assert (plan.next(), plan.stopped) == (None, "precision")
    assert RolloutPlan([1, 2, 3], 5, before=before, precision=0.05).next() == 1


def test_the_least_half_width_is_that_of_children_that_agree() -> None:
    assert RolloutPlan([1], 10).least_half_width(1) == Count(0, 10).half_width
    mixed = RolloutPlan([1], 10, before={1: Count(3, 4)})
    assert mixed.least_half_width(1) == Count(13, 14).half_width


@pytest.mark.parametrize(
    ("text", "steps"),
    [
        ("5", (5,)),
        ("20,5,10", (5, 10, 20)),
        ("5, 5,5", (5,)),
        ("0-3", (0, 1, 2, 3)),
        ("0-20:5", (0, 5, 10, 15, 20)),
        ("1-9:5,20", (1, 6, 20)),
        ("7-7", (7,)),
    ],
)
def test_steps_are_numbers_and_ranges(text: str, steps: tuple[int, ...]) -> None:
    assert parse_steps(text, 20, "it") == steps


@pytest.mark.parametrize("text", ["", ",", "x", "1,,2", "-1", "1.5", "5-", "9-3", "0-9:0", "all", "１", "1-2-3"])
def test_anything_else_is_refused(text: str) -> None:
    with pytest.raises(UserError, match="is not a step; write steps such as"):
        parse_steps(text, 20, "it")


@pytest.mark.parametrize("text", ["21", "0-21", "0-999999999", "3,400"])
def test_a_step_beyond_the_last_is_refused_with_the_last(text: str) -> None:
    with pytest.raises(UserError, match="it has steps 0 to 20"):
        parse_steps(text, 20, "it")
