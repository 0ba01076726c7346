"""Pictures: each exists in each format, shows the figures of the report, and names what it cannot show."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, strategies as st
from matplotlib import rc_context

from scoring.agentmeter import ams
from scoring.agentmeter.curves import quality_within_budgets
from scoring.families import longcli
from scoring.output import report_pictures
from scoring.output.drawing import Drawing
from scoring.output.plots import write_plots
from scoring.report import Report
from scoring.rows import TrialRow
from scoring.score import score
from tests.scoring.trials import synthetic, trial
from tests.solve.command import agent
from trajectories.pictures import distinct

PICTURES = ["ams-tiers", "budget-curves", "quality-cost", "same-model-spread", "score-by-steps", "step-scores"]
ALL_IN_ORDER = ("quality-cost", "budget-curves", "ams-tiers", "same-model-spread", "step-scores", "score-by-steps")
ROWS, TIERS_OF = synthetic(setups=10, tasks=12, attempts=2)
REPORT = score(ROWS, tiers=TIERS_OF, cost="computed", replicates=100)


def drawn(directory: Path, report: Report, rows: list[TrialRow], formats: Any = ("png",)) -> list[Path]:
    """Draw all pictures and return the files."""
    return [picture.file for picture in write_plots(directory, report, rows, formats) if picture.file is not None]


def figure() -> Any:
    import matplotlib.pyplot as pyplot

    return pyplot.figure()


def test_every_picture_is_drawn_in_every_format_and_reproducibly(tmp_path: Path) -> None:
    files = drawn(tmp_path / "one", REPORT, ROWS, ("png", "svg"))
    assert sorted({path.stem for path in files}) == PICTURES
    assert len(files) == 2 * len(PICTURES)
    for path in files:
        if path.suffix == ".png":
            assert path.read_bytes().startswith(b"\x89PNG\r\n\x1a\n")
            assert path.stat().st_size > 10_000
        else:
            assert ElementTree.parse(path).getroot().tag.endswith("svg")
    (tmp_path / "matplotlibrc").write_text("axes.facecolor: red\nsavefig.dpi: 10\n")
    with rc_context(fname=tmp_path / "matplotlibrc"):
        again = drawn(tmp_path / "two", REPORT, ROWS[::-1], ("svg", "png"))
    assert len(again) == len(files)
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
    right = drawn.axes[0].get_xlim()[1]
    assert list(zip(front.get_xdata(), front.get_ydata(), strict=True)) == [(1.0, 0.0), (1.5, 50.0), (right, 50.0)]
    assert front.get_drawstyle() == "steps-post"
    assert drawn.axes[0].get_xscale() == "linear"


@pytest.mark.parametrize(
    ("costs", "scale"), [((0.01, 1.0), "log"), ((0.0, 0.01, 1.0), "symlog"), ((0.0, 1.0), "linear")]
)
def test_the_axis_of_costs_is_logarithmic_if_they_span_much(costs: tuple[float, ...], scale: str) -> None:
    rows = [trial("a", f"s{number}", quality=0.5, cost_usd=cost) for number, cost in enumerate(costs)]
    picture = figure()
    assert report_pictures.quality_cost(picture, Drawing.of(score(rows), rows)) == ""
    (axes,) = picture.axes
    assert axes.get_xscale() == scale
    assert axes.get_xlim()[0] < costs[0]
    assert costs[-1] < axes.get_xlim()[1]


def test_equal_points_stay_apart() -> None:
    rows = [trial("a", f"s{number}", quality=0.5, cost_usd=1.0) for number in range(3)]
    picture = figure()
    report_pictures.quality_cost(picture, Drawing.of(score(rows), rows))
    points = [line for line in picture.axes[0].get_lines() if len(line.get_xdata()) == 1]
    sizes = [line.get_markersize() for line in points if line.get_fillstyle() == "none"]
    assert sizes == [11, 16]
    names = [text.get_text() for text in picture.legends[0].get_texts()]
    assert names == ["Pareto front", "s0", "s1", "s2"]


def test_long_names_of_configurations_stay_different() -> None:
    same = "anthropic/claude-opus-4-7-20260416 prompt=default-2"
    assert distinct([same, same, "$x_1$", "_y", f"{same} t=1"]) == [
        "anthropic/claud…ompt=default-2 (1)",
        "anthropic/claud…ompt=default-2 (2)",
        r"\$x_1\$",
        " _y",
        "anthropic/claude-…pt=default-2 t=1",
    ]
    many = distinct([same] * 30 + [f"{same} (1)", "m", "m"])
    assert len(set(many)) == len(many)
    assert max(map(len, many)) <= 34


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
    ("rows", "pictures"),
    [
        ([trial("a", quality=1.0)], ["score-by-steps", "step-scores"]),
        (
            [trial("a", label="$odd_{ \\x \u4e2d\u6587 _n", quality=1.0, cost_usd=0.0)],
            ["quality-cost", "score-by-steps", "step-scores"],
        ),
        ([trial("a", verdict=None, passed=None, quality=None, steps=900)], []),
        ([trial("a", exit_reason="infrastructure")], ["step-scores"]),
    ],
    ids=["one trial without a cost", "odd name", "no verdict", "infrastructure"],
)
def test_no_empty_picture_is_written_and_each_has_its_reason(
    tmp_path: Path, rows: list[TrialRow], pictures: list[str]
) -> None:
    (tmp_path / "ams-tiers.png").write_bytes(b"of other trials")
    results = list(write_plots(tmp_path, score(rows, infrastructure="count"), rows))
    assert [result.name for result in results] == list(ALL_IN_ORDER)
    assert sorted(path.stem for path in tmp_path.iterdir()) == pictures
    assert sorted(result.name for result in results if result.file is not None) == pictures
    assert "no picture ams-tiers: no AMS: not every task has a tier" in map(str, results)
    assert all(result.reason for result in results if result.file is None)


def test_points_of_cost_0_are_inside_the_axes_and_missing_verdicts_are_named() -> None:
    free = [trial("a", "s", quality=0.5, cost_usd=0.0)]
    unjudged = [trial("a", "u", verdict=None, passed=None, quality=None, cost_usd=1.0)]
    drawn = figure()
    report_pictures.quality_cost(drawn, Drawing.of(score(free + unjudged), free + unjudged))
    assert drawn.axes[0].get_xlim()[0] < 0
    assert drawn.axes[0].get_title() == "Quality against cost (not shown, without a verdict: 1)"
    assert report_pictures.quality_cost(figure(), Drawing.of(score(unjudged), unjudged)) == "no trial has a verdict"


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
    drawn_names = sorted(path.name for path in (tmp_path / "p").iterdir())
    assert drawn_names == ["quality-cost.svg", "score-by-steps.svg", "step-scores.svg"]
    assert "p/quality-cost.svg\nno picture budget-curves: no AMS: not every task has a tier\n" in result.err
