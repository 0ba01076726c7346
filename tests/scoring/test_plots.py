"""Pictures: each exists in each format, shows the figures of the report, and names what it cannot show."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, strategies as st

from scoring.agentmeter import ams
from scoring.agentmeter.curves import quality_within_budgets
from scoring.families import longcli
from scoring.output import report_pictures
from scoring.output.drawing import Drawing
from scoring.output.plots import write_plots
from scoring.score import score
from tests.scoring.trials import synthetic, trial
from tests.solve.command import agent

PICTURES = ["ams-tiers", "budget-curves", "quality-cost", "same-model-spread", "score-by-steps", "step-scores"]
ROWS, TIERS_OF = synthetic(setups=10, tasks=12, attempts=2)
REPORT = score(ROWS, tiers=TIERS_OF, cost="computed", replicates=100)


def figure() -> Any:
    import matplotlib.pyplot as pyplot

    return pyplot.figure()


def test_every_picture_is_drawn_in_every_format_and_reproducibly(tmp_path: Path) -> None:
    files = write_plots(tmp_path / "one", REPORT, ROWS, ("png", "svg"))
    assert sorted({path.stem for path in files}) == PICTURES
    assert len(files) == 2 * len(PICTURES)
    for path in files:
        if path.suffix == ".png":
            assert path.read_bytes().startswith(b"\x89PNG\r\n\x1a\n")
            assert path.stat().st_size > 10_000
        else:
            assert ElementTree.parse(path).getroot().tag.endswith("svg")
    again = write_plots(tmp_path / "two", REPORT, ROWS[::-1], ("svg",))
    assert all(path.read_bytes() == (tmp_path / "one" / path.name).read_bytes() for path in again)


def test_points_have_the_coordinates_of_the_report() -> None:
    rows = [trial("a", f"s{number}", quality=number / 4, cost_usd=cost) for number, cost in enumerate((1.0, 2.0, 1.5))]
    report = score(rows)
    drawn = figure()
    report_pictures.quality_cost(drawn, Drawing.of(report, rows))
    points = {
        (round(float(line.get_xdata()[0]), 9), round(float(line.get_ydata()[0]), 9))
        for line in drawn.axes[0].get_lines()
        if len(line.get_xdata()) == 1
    }
    assert points == {(1.0, 0.0), (2.0, 25.0), (1.5, 50.0)}
    (front,) = (line for line in drawn.axes[0].get_lines() if line.get_label() == "Pareto front")
    assert list(zip(front.get_xdata(), front.get_ydata(), strict=True)) == [(1.0, 0.0), (1.5, 50.0)]


def test_configurations_differ_in_color_or_marker() -> None:
    drawing = Drawing.of(REPORT, ROWS)
    marks = [drawing.marks(configuration.setup) for configuration in drawing.configurations]
    assert len({(mark["color"], mark["marker"]) for mark in marks}) == len(marks) == 10


def test_curves_go_through_the_grid_of_the_report() -> None:
    drawing = Drawing.of(REPORT, ROWS)
    for row in REPORT.tiers:
        tasks = [task for task, tier in TIERS_OF.items() if tier == row.score.tier]
        steps = quality_within_budgets(drawing.outcomes[row.setup], tasks)
        for point in row.score.curve:
            reached = max((quality for cost, quality in steps if cost <= point.budget_usd), default=0.0)
            assert reached == pytest.approx(point.quality)


@given(st.lists(st.tuples(st.integers(0, 4), st.floats(0, 1), st.none() | st.floats(0, 10)), max_size=12))
def test_a_curve_never_falls_and_ends_at_the_quality_of_known_costs(trials: list) -> None:
    outcomes: dict[str, list[ams.Outcome]] = {}
    for task, quality, cost in trials:
        outcomes.setdefault(str(task), []).append(ams.Outcome(quality == 1, quality, cost))
    steps = quality_within_budgets(outcomes, "01234")
    assert [cost for cost, _ in steps] == sorted({cost for cost, _ in steps})
    assert all(a <= b for (_, a), (_, b) in pairwise(steps))
    total = sum(
        sum(outcome.quality for outcome in attempts if outcome.cost_usd is not None) / len(attempts)
        for attempts in outcomes.values()
    )
    assert (steps[-1][1] if steps else 0) == pytest.approx(total / 5)


def test_buckets_of_scores() -> None:
    assert longcli.step_buckets([0.0, 0.29, 0.3, 0.6, 0.8, 0.99, 1.0]) == {
        "[0, 0.3)": 2,
        "[0.3, 0.6)": 1,
        "[0.6, 0.8)": 1,
        "[0.8, 1)": 2,
        "[1]": 1,
    }


@pytest.mark.parametrize(
    "rows",
    [
        [trial("a", quality=1.0)],
        [trial("a", label="$odd_{ \\x \u4e2d\u6587 _n", quality=1.0, cost_usd=0.0)],
        [trial("a", verdict=None, passed=None, quality=None, steps=900)],
        [trial("a", exit_reason="infrastructure")],
    ],
)
def test_a_picture_names_what_it_cannot_show(tmp_path: Path, rows: list) -> None:
    report = score(rows, infrastructure="count")
    files = write_plots(tmp_path, report, rows)
    assert sorted(path.stem for path in files) == PICTURES
    drawn = figure()
    report_pictures.tier_bars(drawn, Drawing.of(report, rows))
    assert "no AMS: not every task has a tier" in [text.get_text() for text in drawn.axes[0].texts]


def test_points_of_cost_0_are_inside_the_axes_and_missing_verdicts_are_named() -> None:
    free = [trial("a", "s", quality=0.5, cost_usd=0.0)]
    unjudged = [trial("a", "u", verdict=None, passed=None, quality=None, cost_usd=1.0)]
    drawn = figure()
    report_pictures.quality_cost(drawn, Drawing.of(score(free + unjudged), free + unjudged))
    assert drawn.axes[0].get_xlim()[0] < 0
    assert drawn.axes[0].get_title() == "Quality against cost (not shown, without a verdict: 1)"
    drawn = figure()
    report_pictures.quality_cost(drawn, Drawing.of(score(unjudged), unjudged))
    assert "no trial has a verdict" in [text.get_text() for text in drawn.axes[0].texts]


def test_a_directory_that_cannot_be_created_is_an_error(tmp_path: Path) -> None:
    from tests.scoring.records import record

    record(tmp_path / "runs" / "one", quality=1.0)
    (tmp_path / "file").write_text("")
    result = agent(tmp_path, "score", "one", "--plots", "file/x")
    assert (result.status, result.out) == (2, "")
    assert "the plots cannot be written" in result.err
    result = agent(tmp_path, "score", "one", "--plots", "p", "--format", "svg", "--json")
    assert result.status == 0, result.err
    assert result.json["benchmark"] == "bench"
    assert sorted(path.name for path in (tmp_path / "p").iterdir()) == [f"{name}.svg" for name in PICTURES]
