"""Whether two scorings of the same configurations rank them alike: other prices, costs or budgets, or other figures."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from scoring.report import Configuration, RankingRow, Report
from scoring.statistics.rank_correlation import agreement

_FEWEST = 3
"""Two configurations agree or not: no correlation."""
Value = Callable[[Configuration], float | None]


def within(report: Report) -> list[RankingRow]:
    """AMS beside pass rate and mean quality, where at least three configurations have an AMS."""
    by_ams = _scores(report, _ams)
    if len(by_ams) < _FEWEST:
        return []
    others: Mapping[str, Value] = {
        "pass rate": lambda one: one.passed.pass_rate.value,
        "mean quality": lambda one: one.passed.quality.value,
    }
    return [
        RankingRow(first="AMS", second=name, agreement=agreement(by_ams, _scores(report, value)))
        for name, value in others.items()
    ]


def between(first: Report, second: Report, first_name: str, second_name: str) -> RankingRow:
    """The same figure of two scorings: AMS, or the mean cost where there is none."""
    figure, value = ("AMS", _ams) if _scores(first, _ams) and _scores(second, _ams) else ("mean cost", _cost)
    return RankingRow(
        first=f"{figure}, {first_name}",
        second=f"{figure}, {second_name}",
        agreement=agreement(_scores(first, value), _scores(second, value)),
    )


def _scores(report: Report, value: Value) -> dict[str, float]:
    found = {one.setup: value(one) for one in report.configurations}
    return {setup: score for setup, score in found.items() if score is not None}


def _ams(one: Configuration) -> float | None:
    return one.ams.value if one.ams is not None else None


def _cost(one: Configuration) -> float | None:
    return None if one.passed.usd.unknown else one.passed.cost.value
