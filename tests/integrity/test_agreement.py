"""Fleiss' kappa and the disagreement rate: published tables, and properties of any table."""

from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

from trajectories.analysis.integrity import disagreement_rate, fleiss_kappa

WORKED = """0 0 0 0 14;0 2 6 4 2;0 0 3 5 6;0 3 9 2 0;2 2 8 1 1;7 7 0 0 0;3 2 6 3 0;2 5 3 2 2;6 5 2 1 0;0 2 2 3 7"""
"""Worked example of textbooks: 10 subjects, 14 raters, kappa 0.210."""
FLEISS_1971 = """0 0 0 6 0;0 3 0 0 3;0 1 4 0 1;0 0 0 0 6;0 3 0 3 0;2 0 4 0 0;0 0 4 0 2;2 0 3 1 0;2 0 0 4 0;0 0 0 0 6;
1 0 0 5 0;1 1 0 4 0;0 3 3 0 0;1 0 0 5 0;0 2 0 3 1;0 0 5 0 1;3 0 0 1 2;5 1 0 0 0;0 2 0 4 0;1 0 2 0 3;
0 0 0 0 6;0 1 0 5 0;0 2 0 1 3;2 0 0 4 0;1 0 0 4 1;0 5 0 1 0;4 0 0 0 2;0 2 0 4 0;1 0 5 0 0;0 0 0 0 6"""
"""Table 1 of the paper: 30 patients, 6 psychiatrists, 5 diagnoses, kappa 0.430."""


def table(text: str) -> list[list[int]]:
    return [[int(cell) for cell in row.split()] for row in text.replace("\n", "").split(";")]


@pytest.mark.parametrize(("text", "kappa", "raters"), [(WORKED, 0.210, 14), (FLEISS_1971, 0.430, 6)])
def test_published_values(text: str, kappa: float, raters: int) -> None:
    result = fleiss_kappa(table(text))
    assert result.value == pytest.approx(kappa, abs=0.0005)
    assert result.raters == raters


@given(st.integers(2, 20), st.lists(st.booleans(), min_size=2, max_size=30))
def test_unanimous_and_mixed_is_one(raters: int, votes: list[bool]) -> None:
    counts = [(raters, 0) if yes else (0, raters) for yes in votes]
    result = fleiss_kappa(counts)
    assert disagreement_rate(counts) == 0
    if len(set(votes)) == 2:
        assert result.value == 1
    else:
        assert result.value is None
        assert "all votes are the same" in result.why_none


@given(st.integers(2, 12), st.data())
def test_kappa_does_not_depend_on_the_order_and_stays_in_its_bounds(raters: int, data: st.DataObject) -> None:
    yes = data.draw(st.lists(st.integers(0, raters), min_size=1, max_size=20))
    counts = [(count, raters - count) for count in yes]
    result = fleiss_kappa(counts)
    assert fleiss_kappa(counts[::-1]).value == result.value
    assert fleiss_kappa([row[::-1] for row in counts]).value == result.value
    if result.value is not None:
        assert -1 / (raters - 1) - 1e-6 <= result.value <= 1
        assert (result.value == 1) == (disagreement_rate(counts) == 0)


@pytest.mark.parametrize(
    ("counts", "reason"),
    [([], "nothing"), ([(1, 0), (0, 1)], "fewer than two"), ([(2, 1), (1, 1)], "different sizes (2, 3)")],
)
def test_an_undefined_kappa_has_a_reason(counts: list[tuple[int, int]], reason: str) -> None:
    result = fleiss_kappa(counts)
    assert result.value is None
    assert reason in result.why_none


def test_the_rate_counts_only_subjects_with_two_answers() -> None:
    assert disagreement_rate([(1, 0), (0, 0)]) is None
    assert disagreement_rate([(1, 1), (3, 0), (1, 0)]) == 0.5
