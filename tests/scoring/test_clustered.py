"""Intervals clustered by task: closed forms, scipy's figures, and how often they hold the true value."""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import NormalDist

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from scipy import special, stats

from scoring.errors import ScoringError
from scoring.statistics.clustered import POWER, mean_by_task, paired_mean, paired_rate, rate_by_task
from scoring.statistics.intervals import wilson
from scoring.statistics.student import incomplete_beta, t_probability, t_quantile

brief = settings(max_examples=60, deadline=None)
SHARES = st.lists(st.floats(0, 1), min_size=2, max_size=30)
PASSES = st.lists(st.lists(st.booleans(), min_size=1, max_size=5), min_size=1, max_size=20)


def tasks(values: Sequence[Sequence[float]]) -> dict[str, list[float]]:
    """Return the values of each task by its name."""
    return {f"task-{number:02}": list(of_task) for number, of_task in enumerate(values)}


@brief
@given(st.floats(0.001, 0.999), st.floats(0.5, 1e5))
def test_quantiles_of_t_are_those_of_scipy(probability: float, freedom: float) -> None:
    expected = stats.t.ppf(probability, freedom)
    assert t_quantile(probability, freedom) == pytest.approx(expected, rel=1e-7, abs=1e-7)
    assert t_probability(expected, freedom) == pytest.approx(probability, abs=1e-9)


@brief
@given(st.floats(0.01, 500), st.floats(0.01, 500), st.just(0.0) | st.floats(1e-100, 1))
def test_the_incomplete_beta_function_is_that_of_scipy(a: float, b: float, x: float) -> None:
    assert incomplete_beta(a, b, x) == pytest.approx(special.betainc(a, b, x), abs=1e-9)


def test_a_quantile_of_t_has_its_limits() -> None:
    assert t_quantile(0.975, 1e9) == pytest.approx(NormalDist().inv_cdf(0.975), abs=1e-7)
    assert t_quantile(0.5, 3) == pytest.approx(0, abs=1e-12)
    for probability, freedom in ((0, 3), (1, 3), (0.5, 0), (0.5, -1)):
        with pytest.raises(ScoringError):
            t_quantile(probability, freedom)


@brief
@given(SHARES, st.sampled_from([0.8, 0.95, 0.99]))
def test_the_interval_of_a_mean_is_that_of_scipy_for_the_task_means(means: list[float], level: float) -> None:
    estimate = mean_by_task(tasks([[mean, mean] for mean in means]), level=level)
    assert estimate.value == pytest.approx(np.mean(means))
    if np.std(means) > 1e-9:
        low, high = stats.t.interval(level, len(means) - 1, np.mean(means), stats.sem(means))
        assert (estimate.low, estimate.high) == pytest.approx((low, high), abs=1e-7)


def test_one_task_or_equal_tasks_have_no_interval_but_a_reason() -> None:
    assert mean_by_task({"a": [1.0, 2.0]}).method == "no interval: fewer than 2 tasks"
    same = mean_by_task({"a": [1.0, 2.0], "b": [1.5]})
    assert (same.value, same.low, same.method) == (1.5, None, "no interval: the same in every task")
    assert mean_by_task({}).value is None
    assert rate_by_task({"a": [True, False]}).low is None
    assert rate_by_task({"a": [True], "b": []}, missing=2).missing == 3
    assert paired_mean({"a": [1.0]}, {"a": [0.0]}).detectable is None
    assert paired_rate({"a": [True]}, {"a": [False]}).difference.method == "no interval: fewer than 2 tasks"


def test_bounds_stay_within_the_possible_values() -> None:
    estimate = mean_by_task({"a": [0.0], "b": [10.0]}, least=0)
    assert estimate.low == 0
    assert estimate.high > 60  # t with one degree of freedom


@brief
@given(st.lists(st.booleans(), min_size=1, max_size=60))
def test_a_rate_with_one_trial_a_task_is_wilsons(passed: list[bool]) -> None:
    estimate = rate_by_task(tasks([[each] for each in passed]))
    assert (estimate.low, estimate.high) == pytest.approx(wilson(sum(passed), len(passed)))


@brief
@given(PASSES)
def test_a_rate_lies_in_its_interval_and_repeating_attempts_tells_nothing_new(passes: list[list[bool]]) -> None:
    estimate = rate_by_task(tasks(passes))
    if estimate.low is not None:
        assert 0 <= estimate.low <= estimate.value <= estimate.high <= 1  # type: ignore[operator]
    twice = rate_by_task(tasks([of_task * 2 for of_task in passes]))
    assert twice.value == pytest.approx(estimate.value)
    if len(passes) > 1 and all(len(set(of_task)) == 1 for of_task in passes):
        again = rate_by_task(tasks([of_task * 4 for of_task in passes]))
        assert (twice.low, twice.high) == pytest.approx((again.low, again.high))


@brief
@given(SHARES, SHARES)
def test_a_paired_mean_is_scipys_paired_test(left: list[float], right: list[float]) -> None:
    number = min(len(left), len(right))
    left, right = left[:number], right[:number]
    paired = paired_mean(tasks([[value] for value in left]), tasks([[value] for value in right]))
    differences = np.subtract(left, right)
    assert paired.difference.value == pytest.approx(differences.mean())
    if np.std(differences) > 1e-6:
        interval = stats.ttest_rel(left, right).confidence_interval(0.95)
        assert (paired.difference.low, paired.difference.high) == pytest.approx(tuple(interval), abs=1e-7)


@brief
@given(st.integers(0, 30), st.integers(0, 30), st.integers(0, 30))
def test_a_paired_rate_with_one_trial_a_task_is_agresti_and_mins(both: int, left_only: int, right_only: int) -> None:
    if both + left_only + right_only < 2:
        return
    left = tasks([[True]] * both + [[True]] * left_only + [[False]] * right_only)
    right = tasks([[True]] * both + [[False]] * left_only + [[True]] * right_only)
    b, c, n = left_only + 0.5, right_only + 0.5, both + left_only + right_only + 2
    error = math.sqrt(b + c - (b - c) ** 2 / n) / n
    paired = paired_rate(left, right)
    z = NormalDist().inv_cdf(0.975)
    expected = max(-1.0, (b - c) / n - z * error), min(1.0, (b - c) / n + z * error)
    assert (paired.difference.low, paired.difference.high) == pytest.approx(expected)
    assert paired.detectable == pytest.approx(min(1.0, (z + NormalDist().inv_cdf(POWER)) * error))


@brief
@given(PASSES, PASSES)
def test_swapping_the_sides_changes_the_sign_alone(left: list[list[bool]], right: list[list[bool]]) -> None:
    one, other = paired_rate(tasks(left), tasks(right)), paired_rate(tasks(right), tasks(left))
    assert one.difference.missing == other.difference.missing == abs(len(left) - len(right))
    assert one.difference.value == pytest.approx(-other.difference.value)
    assert one.detectable == pytest.approx(other.detectable)
    if one.difference.low is not None:
        assert one.difference.low == pytest.approx(-other.difference.high)


@pytest.mark.parametrize("attempts", [1, 3])
@pytest.mark.parametrize("count", [5, 20, 50])
def test_the_intervals_hold_the_true_value_as_often_as_they_promise(count: int, attempts: int) -> None:
    random = np.random.default_rng(20261123)
    times = 600
    rates = differences = 0
    for _ in range(times):
        chances = random.beta(2, 2, count)[:, None]
        left, right = (tasks((random.random((count, attempts)) < chances).tolist()) for _ in range(2))
        rate, paired = rate_by_task(left), paired_rate(left, right)
        rates += rate.low <= 0.5 <= rate.high  # type: ignore[operator]
        differences += paired.difference.low <= 0 <= paired.difference.high  # type: ignore[operator]
    assert rates / times > 0.91
    assert differences / times > 0.92


def test_the_smallest_detectable_difference_is_detected_with_its_power() -> None:
    random = np.random.default_rng(1)
    count, spread = 12, 0.3
    sizes, times = [], 400
    for _ in range(times):
        noise = random.normal(0, spread, count)
        sizes.append(paired_mean(tasks([[value] for value in noise]), tasks([[0.0]] * count)).detectable)
    size = float(np.sqrt(np.mean(np.square(sizes))))
    detections = 0
    for _ in range(times):
        values = random.normal(size, spread, count)
        low = paired_mean(tasks([[value] for value in values]), tasks([[0.0]] * count)).difference.low
        detections += low > 0  # type: ignore[operator]
    assert detections / times == pytest.approx(POWER, abs=0.06)
