"""Intervals, pass@k, Pareto fronts and rankings, compared with published values and with their definitions."""

from __future__ import annotations

import itertools
import random
import sys
from statistics import fmean

import pytest
from hypothesis import given, settings, strategies as st

from scoring.errors import ScoringError
from scoring.statistics.intervals import difference, mean, rate, resampled_sums, wilson
from scoring.statistics.pareto import front
from scoring.statistics.passes import pass_at_k, pass_hat_k, passes
from scoring.statistics.rank_correlation import agreement

brief = settings(max_examples=60, deadline=None)


@pytest.mark.parametrize(
    ("successes", "trials", "low", "high"),
    [
        (0, 10, 0.0, 0.2775),
        (1, 10, 0.0179, 0.4042),
        (5, 10, 0.2366, 0.7634),
        (10, 10, 0.7225, 1.0),
        (81, 263, 0.2553, 0.3662),
    ],
)
def test_wilson_as_published(successes: int, trials: int, low: float, high: float) -> None:
    """The last is Newcombe's example (1998, Statistics in Medicine 17, table I)."""
    assert wilson(successes, trials) == pytest.approx((low, high), abs=5e-5)


def test_wilson_agrees_with_scipy() -> None:
    from scipy.stats import binomtest

    for successes, trials, level in ((3, 17, 0.95), (0, 1, 0.9), (199, 200, 0.99)):
        expected = binomtest(successes, trials).proportion_ci(level, method="wilson")
        assert wilson(successes, trials, level) == pytest.approx((expected.low, expected.high), abs=1e-12)


def test_a_rate_without_trials_has_no_interval() -> None:
    assert rate({}, missing=3).model_dump(include={"value", "low", "trials", "missing"}) == {
        "value": None,
        "low": None,
        "trials": 0,
        "missing": 3,
    }
    for successes, trials in ((1, 0), (3, 2), (-1, 2)):
        with pytest.raises(ScoringError):
            wilson(successes, trials)


def test_a_mean_is_over_tasks_and_has_their_number() -> None:
    estimate = mean({"a": [0.0, 0.0, 0.0], "b": [1.0], "c": []}, missing=2)
    assert (estimate.value, estimate.trials, estimate.tasks, estimate.missing) == (0.5, 4, 2, 3)
    assert (estimate.low, estimate.high) == (0, 1)


def test_a_mean_over_a_single_task_has_a_reason_instead_of_an_interval() -> None:
    estimate = mean({"a": [0.2, 0.4]})
    assert (estimate.value, estimate.low, estimate.high) == (pytest.approx(0.3), None, None)
    assert estimate.method == "no interval: fewer than 2 tasks"


def test_without_numpy_there_are_values_and_no_intervals(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "numpy", None)
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    estimate = mean({"a": [0.2], "b": [0.4]})
    assert (estimate.value, estimate.low) == (pytest.approx(0.3), None)
    assert "retrace-agent[scoring]" in estimate.method
    assert rate({"a": [True]}).low is not None


def test_the_bootstrap_depends_on_the_seed_and_not_on_the_order() -> None:
    chance = random.Random(0)
    values = {f"t{number}": [chance.random() for _ in range(1 + number % 3)] for number in range(30)}
    backwards = {task: values[task][::-1] for task in reversed(values)}
    assert mean(values) == mean(backwards)
    assert mean(values, seed=1) != mean(values, seed=2)


def test_tasks_with_different_names_are_drawn_differently() -> None:
    """The draw depends on the names of the tasks, so two benchmarks of the same size do not share their errors."""
    chance = random.Random(2)
    qualities = [chance.random() for _ in range(30)]
    first, second = (
        mean({f"{benchmark}/{number:02}": [quality] for number, quality in enumerate(qualities)})
        for benchmark in ("first", "second")
    )
    assert first.value == second.value
    assert (first.low, first.high) != (second.low, second.high)


def test_attempts_at_one_task_are_drawn_together() -> None:
    """Ten attempts that always agree are worth no more than a single one: the interval does not shrink."""
    once = {f"t{number}": [float(number % 2)] for number in range(20)}
    often = {task: values * 10 for task, values in once.items()}
    assert (mean(once).low, mean(once).high) == (mean(often).low, mean(often).high)


def test_the_interval_contains_the_mean_about_as_often_as_its_level() -> None:
    chance = random.Random(1)
    covered = 0
    for run in range(150):
        estimate = mean({f"{run}-{number}": [chance.gauss(0.3, 0.2)] for number in range(40)}, replicates=400)
        assert estimate.low is not None
        assert estimate.high is not None
        covered += estimate.low <= 0.3 <= estimate.high
    assert 0.87 <= covered / 150 <= 0.99


def test_drawing_in_pieces_does_not_change_the_shape(monkeypatch: pytest.MonkeyPatch) -> None:
    import numpy as np

    tasks = [f"t{number}" for number in range(7)]
    monkeypatch.setattr("scoring.statistics.intervals._PIECE", 20)
    sums = resampled_sums(tasks, np.ones((7, 2)), seed=3, replicates=11)
    assert sums.shape == (11, 2)
    assert (sums == 7).all(), "each replicate draws as many tasks as there are"


def test_a_paired_difference_is_over_shared_tasks() -> None:
    estimate = difference({"a": [1.0], "b": [0.5, 0.7], "x": [1.0]}, {"a": [0.5], "b": [0.1], "y": [0.0]})
    assert (estimate.value, estimate.tasks, estimate.missing, estimate.trials) == (pytest.approx(0.5), 2, 2, 5)
    assert estimate.method.startswith("paired bootstrap")
    assert difference({"a": [1.0]}, {"b": [1.0]}).value is None


def test_pass_at_k_counts_subsets() -> None:
    """By definition: the share of all choices of k from n trials in which at least one trial, or every trial,
    passed."""
    for n in range(1, 7):
        for c in range(n + 1):
            trials = [True] * c + [False] * (n - c)
            for k in range(1, n + 1):
                ways = list(itertools.combinations(trials, k))
                assert pass_at_k(n, c, k) == pytest.approx(fmean(map(any, ways)))
                assert pass_hat_k(n, c, k) == pytest.approx(fmean(map(all, ways)))


def test_pass_at_k_excludes_and_counts_tasks_with_fewer_trials() -> None:
    result = passes({"a": [True, False], "b": [True]}, 2)
    assert (result.pass_at_k, result.pass_hat_k, result.tasks, result.missing) == (1, 0, 1, 1)
    assert passes({}, 1).pass_at_k is None
    for n, c, k in ((2, 3, 1), (2, 1, 3), (2, 1, 0)):
        with pytest.raises(ScoringError):
            pass_at_k(n, c, k)


points = st.dictionaries(
    st.text(max_size=3), st.tuples(st.none() | st.integers(0, 5), st.none() | st.integers(0, 5)), max_size=12
)


@brief
@given(points)
def test_the_front_has_the_points_that_are_not_beaten(named: dict[str, tuple[int | None, int | None]]) -> None:
    complete = {name: point for name, point in named.items() if None not in point}

    def beaten(point: tuple[int, int]) -> bool:
        return any(q >= point[0] and c <= point[1] and (q, c) != point for q, c in complete.values())

    assert set(front(named)) == {name for name, point in complete.items() if not beaten(point)}


def test_agreement_of_rankings() -> None:
    scores = {"a": 0.9, "b": 0.5, "c": 0.1, "only": 1.0}
    same = agreement(scores, {"a": 0.8, "b": 0.4, "c": 0.0})
    assert (same.spearman, same.kendall_tau_b, same.rank_mae) == (pytest.approx(1), pytest.approx(1), 0)
    assert (same.score_mae, same.configurations, same.missing) == (pytest.approx(0.1), 3, 1)
    turned = agreement(scores, {"a": 0.0, "b": 0.5, "c": 1.0})
    assert (turned.spearman, turned.kendall_tau_b) == (pytest.approx(-1), pytest.approx(-1))
    assert turned.rank_mae == pytest.approx(4 / 3)
    tied = agreement({"a": 1, "b": 2, "c": 2, "d": 3}, {"a": 1, "b": 2, "c": 3, "d": 4})
    assert tied.kendall_tau_b == pytest.approx(5 / (5 * 6) ** 0.5), "tau-b: (P - Q) / sqrt((P+Q+T)(P+Q+U))"
    flat = agreement({"a": 1, "b": 1}, {"a": 1, "b": 2})
    assert (flat.spearman, flat.kendall_tau_b, flat.score_mae) == (None, None, 0.5)
    assert agreement({}, {"a": 1}).score_mae is None
    with pytest.raises(ScoringError, match="b: its score is nan"):
        agreement({"b": float("nan")}, {})


@given(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4)), min_size=2, max_size=12))
def test_agreement_of_rankings_equals_that_of_scipy(scores: list[tuple[int, int]]) -> None:
    from scipy import stats

    left, right = ([float(pair[side]) for pair in scores] for side in (0, 1))
    result = agreement(
        {str(n): score for n, score in enumerate(left)}, {str(n): score for n, score in enumerate(right)}
    )
    if len(set(left)) == 1 or len(set(right)) == 1:
        assert (result.spearman, result.kendall_tau_b) == (None, None)
        return
    assert result.spearman == pytest.approx(stats.spearmanr(left, right).statistic, abs=1e-12)
    assert result.kendall_tau_b == pytest.approx(stats.kendalltau(left, right, variant="b").statistic, abs=1e-12)
    ranks = [stats.rankdata([-score for score in side]) for side in (left, right)]
    assert result.rank_mae == pytest.approx(abs(ranks[0] - ranks[1]).mean())
