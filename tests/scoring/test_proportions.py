"""Two shares compared: published examples, and properties."""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from math import comb

import pytest
from hypothesis import given, strategies as st

from scoring.errors import ScoringError
from scoring.statistics.proportions import fisher_decrease, newcombe

COUNTS = st.integers(1, 40).flatmap(lambda trials: st.tuples(st.integers(0, trials), st.just(trials)))


@pytest.mark.parametrize(
    ("counts", "interval"),
    [  # Newcombe 1998 (Statistics in Medicine 17:873-890), table II, method 10, with the sign turned
        ((56, 70, 48, 80), (-0.3339, -0.0524)),
        ((9, 10, 3, 10), (-0.8090, -0.1705)),
        ((6, 7, 2, 7), (-0.8062, -0.0582)),
        ((5, 56, 0, 29), (-0.1926, 0.0381)),
        ((0, 10, 0, 20), (-0.2775, 0.1611)),
        ((0, 10, 0, 10), (-0.2775, 0.2775)),
        ((10, 10, 0, 20), (-1.0000, -0.6791)),
        ((10, 10, 0, 10), (-1.0000, -0.6075)),
    ],
)
def test_the_interval_is_newcombes(counts: tuple[int, int, int, int], interval: tuple[float, float]) -> None:
    assert newcombe(*counts) == pytest.approx(interval, abs=6e-5)


def test_fishers_p_is_that_of_the_lady_tasting_tea() -> None:
    assert fisher_decrease(4, 4, 0, 4) == pytest.approx(1 / 70)
    assert fisher_decrease(3, 4, 1, 4) == pytest.approx(17 / 70)
    assert fisher_decrease(0, 4, 4, 4) == 1


@given(COUNTS, COUNTS)
def test_the_interval_holds_the_difference_and_turns_with_the_shares(
    first: tuple[int, int], later: tuple[int, int]
) -> None:
    low, high = newcombe(*first, *later)
    difference = later[0] / later[1] - first[0] / first[1]
    assert -1 <= low <= difference + 1e-12
    assert difference - 1e-12 <= high <= 1
    turned = newcombe(*later, *first)
    assert (-turned[1], -turned[0]) == pytest.approx((low, high))


@given(st.integers(1, 7), st.integers(1, 7), st.data())
def test_fishers_p_is_the_share_of_all_assignments(first: int, later: int, data: st.DataObject) -> None:
    """Count the assignments of the passes to the children one by one."""
    passes = data.draw(st.integers(0, first + later))
    observed = data.draw(st.integers(max(0, passes - later), min(first, passes)))
    large = sum(
        1
        for chosen in product((0, 1), repeat=first + later)
        if sum(chosen) == passes and sum(chosen[:first]) >= observed
    )
    share = Fraction(large, comb(first + later, passes))
    assert fisher_decrease(observed, first, passes - observed, later) == pytest.approx(float(share))


@pytest.mark.parametrize("counts", [(2, 1, 0, 1), (-1, 1, 0, 1), (0, 1, 2, 1)])
def test_impossible_counts_are_refused(counts: tuple[int, int, int, int]) -> None:
    with pytest.raises(ScoringError):
        fisher_decrease(*counts)
    with pytest.raises(ScoringError):
        newcombe(*counts)
