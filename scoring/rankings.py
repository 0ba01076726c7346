"""Rankings of the configurations by two scorings: other prices, costs or budgets, or another figure of one report."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from scoring.report import Configuration, RankingRow, Report
from scoring.statistics.rank_correlation import agreement

_FEWEST = 3
"""Smallest number of configurations in a correlation; two can only agree or disagree."""
Value = Callable[[Configuration], float | None]


def within(report: Report) -> list[RankingRow]:
    """Compare AMS with pass rate and with mean quality, if at least three configurations have an AMS."""
    by_ams = _scores(report, _ams)
    if len(by_ams) < _FEWEST:
        return []
    others: Mapping[str, Value] = {
        "pass rate": lambda configuration: configuration.passed.pass_rate.value,
        "mean quality": lambda configuration: configuration.passed.quality.value,
    }
    return [
        RankingRow(first="AMS", second=name, agreement=agreement(by_ams, _scores(report, value)))
        for name, value in others.items()
    ]


def between(first: Report, second: Report, first_name: str, second_name: str) -> RankingRow:
    """Compare the same figure of two scorings: AMS, or the mean cost if there is no AMS."""
    figure, value = ("AMS", _ams) if _scores(first, _ams) and _scores(second, _ams) else ("mean cost", _cost)
    return RankingRow(
        first=f"{figure}, {first_name}",
        second=f"{figure}, {second_name}",
        agreement=agreement(_scores(first, value), _scores(second, value)),
    )


def _scores(report: Report, value: Value) -> dict[str, float]:
    scores = {configuration.setup: value(configuration) for configuration in report.configurations}
    return {setup: score for setup, score in scores.items() if score is not None}


def _ams(configuration: Configuration) -> float | None:
    return configuration.ams.value if configuration.ams is not None else None


def _cost(configuration: Configuration) -> float | None:
    return None if configuration.passed.usd.unknown else configuration.passed.cost.value
