"""Values of steps and the largest drop between them."""

from __future__ import annotations

import csv
import itertools
from pathlib import Path

import pytest
from hypothesis import given, strategies as st

from scoring.errors import ScoringError
from scoring.interventions.rollouts import Child, RolloutReport, Run, Spent, Status, largest_drop, step_values
from scoring.output.rollouts import captions, check_plot, cost_text, write_csv, write_plot
from scoring.statistics.intervals import wilson


def child(
    step: int,
    passed: bool | None,
    *,
    status: Status = "counted",
    lacks: tuple[str, ...] = (),
    usd: float | None = 0.5,
    name: str = "c",
) -> Child:
    return Child(
        trial=f"runs/single/{name}",
        step=step,
        attempt=1,
        status=status,
        exit="agent: submitted",
        passed=passed,
        quality=None if passed is None else float(passed),
        steps=3,
        cost=Spent(usd=usd, at_least_usd=0.25 if usd is None else usd),
        not_restored=lacks,
        is_new=True,
    )


def children(results: dict[int, str], lacking: tuple[int, ...] = ()) -> list[Child]:
    """Return children by step: `+` passes, `-` does not, `.` has no result."""
    return [
        child(
            step,
            {"+": True, "-": False, ".": None}[sign],
            status="infrastructure" if sign == "." else "counted",
            lacks=("files outside",) if step in lacking else (),
        )
        for step, signs in results.items()
        for sign in signs
    ]


def report_of(results: dict[int, str], lacking: tuple[int, ...] = (), *, only_whole: bool = True) -> RolloutReport:
    made = children(results, lacking)
    values = step_values(list(results), made, {})
    return RolloutReport(
        trial="runs/single/parent",
        task="demo/it",
        model="opus",
        parent_passed=False,
        parent_steps=20,
        steps=values,
        drop=largest_drop(values, only_whole=only_whole),
        only_whole=only_whole,
        children=tuple(made),
        cost=Spent.sum([one.cost for one in made]),
    )


def test_the_value_is_over_the_children_that_count() -> None:
    (value,) = step_values([5], children({5: "++-.."}), {})
    assert (value.value.value, value.value.trials, value.children, value.passed) == (2 / 3, 3, 5, 2)
    assert (value.value.low, value.value.high) == wilson(2, 3)
    assert value.quality == pytest.approx(2 / 3)
    assert value.cost.usd == 2.5, "children without a result cost money too"


def test_a_step_without_a_result_has_no_value() -> None:
    empty, failed = step_values([9, 4], children({9: "."}), {})
    assert (empty.step, empty.value.value, empty.children) == (4, None, 0)
    assert (failed.step, failed.value.value, failed.half_width, failed.quality) == (9, None, None, None)


def test_an_unknown_cost_makes_the_sum_a_lower_bound() -> None:
    cost = Spent.sum([Spent(usd=1.5, at_least_usd=1.5), Spent(usd=None, at_least_usd=0.25)])
    assert (cost.usd, cost.at_least_usd) == (None, 1.75)
    assert cost_text(cost) == "at least $1.750"


def test_the_largest_drop_is_between_consecutive_steps() -> None:
    drop = report_of({2: "+++++", 8: "++++-", 12: "-----", 20: "-----"}).drop
    assert drop is not None
    assert (drop.after, drop.by, drop.comparisons) == (8, 12, 3)
    assert drop.change.value == pytest.approx(-0.8)
    assert drop.p == pytest.approx(3 * 5 / 210)
    assert not drop.is_beyond_chance
    sure = report_of({2: "+++++", 12: "-----"}).drop
    assert sure is not None
    assert sure.is_beyond_chance
    assert sure.p == pytest.approx(1 / 252)


def test_a_step_that_was_not_restored_whole_is_left_out_before_pairs_are_made() -> None:
    results = {2: "++++", 5: "----", 9: "--++"}
    left_out = report_of(results, lacking=(5,))
    assert left_out.drop is not None
    assert (left_out.drop.after, left_out.drop.by) == (2, 9)
    every = report_of(results, lacking=(5,), only_whole=False)
    assert every.drop is not None
    assert (every.drop.after, every.drop.by) == (2, 5)


@pytest.mark.parametrize(
    ("results", "lacking", "text"),
    [
        ({2: "+-", 4: "++"}, (), "none, the value decreases nowhere among 2 steps"),
        ({2: "++", 4: "--"}, (4,), "it needs two steps with counted children; --all includes"),
        ({2: "++", 4: ".."}, (), "it needs two steps"),
        ({2: "++", 4: "--"}, (), "in steps 3 to 4, from 100.0% after step 2 to 0.0% after step 4 (-100.0 points"),
        ({3: "++", 4: "--"}, (), "in step 4, from 100.0% after step 3 to 0.0% after step 4"),
    ],
)
def test_the_first_caption_tells_the_drop(results: dict[int, str], lacking: tuple[int, ...], text: str) -> None:
    assert text in next(captions(report_of(results, lacking)))


@given(st.dictionaries(st.integers(0, 50), st.text("+-.", max_size=6), max_size=6), st.sets(st.integers(0, 50)))
def test_no_other_pair_of_compared_steps_falls_further(results: dict[int, str], lacking: set[int]) -> None:
    report = report_of(results, tuple(lacking))
    compared = [value for value in report.steps if value.value.trials and value.whole]
    falls = [(before.value.value or 0) - (later.value.value or 0) for before, later in itertools.pairwise(compared)]
    largest = max([fall for fall in falls if fall > 1e-12], default=None)
    assert (report.drop is None) == (largest is None)
    if report.drop is not None and largest is not None:
        assert -(report.drop.change.value or 0) == pytest.approx(largest)
        assert 0 <= report.drop.p <= 1


def test_the_second_caption_tells_if_chance_could_have_made_the_drop() -> None:
    _, sure, *_ = captions(report_of({2: "+++++", 4: "-----"}))
    assert sure.startswith("the drop is beyond chance: p = 0.004 by Fisher's exact test, one-sided")
    _, unsure, *_ = captions(report_of({2: "++", 4: "--", 6: "--"}))
    assert unsure.startswith("the drop is not beyond chance at 5%: p = 0.33 by Fisher's")
    assert "Bonferroni's correction for 2 pairs" in unsure


def test_captions_name_what_does_not_count_and_why_a_run_ended() -> None:
    report = report_of({2: "+"}).model_copy(
        update={
            "children": (
                child(2, None, status="unfinished", name="half"),
                child(2, None, status="unjudged", name="no"),
            ),
            "run": Run(planned=9, started=2, stopped="cost_limit", cost=Spent(usd=1.0, at_least_usd=1.0)),
            "precision": 0.2,
            "other_children": 3,
            "unreadable_children": 1,
        }
    )
    text = "\n".join(captions(report))
    assert "not counted, unfinished (agent resume continues each): runs/single/half" in text
    assert "not counted, unjudged (agent evaluate judges each): runs/single/no" in text
    assert "2 of 9 children started, because the cost limit of all children was reached" in text
    assert "slightly optimistic" in text
    assert "other settings, which are not in the report: 3" in text
    assert "left out: 1" in text


def test_the_csv_has_a_row_for_each_step(tmp_path: Path) -> None:
    write_csv(tmp_path / "v.csv", report_of({2: "++", 4: "-.", 9: ""}, lacking=(4,)))
    rows = list(csv.DictReader((tmp_path / "v.csv").open()))
    assert [row["step"] for row in rows] == ["2", "4", "9"]
    assert [(row["value"], row["passed"], row["counted"], row["children"]) for row in rows] == [
        ("1.0", "2", "2", "2"),
        ("0.0", "0", "1", "2"),
        ("", "0", "0", "0"),
    ]
    assert [row["whole"] for row in rows] == ["True", "False", "True"]
    with pytest.raises(ScoringError, match="cannot be written"):
        write_csv(tmp_path / "none" / "v.csv", report_of({}))


def test_the_picture_is_drawn_or_not_written(tmp_path: Path) -> None:
    path = tmp_path / "v.svg"
    assert write_plot(path, report_of({2: "++", 4: "--"}, lacking=(4,), only_whole=False)) == str(path)
    assert "largest drop" in path.read_text() or path.stat().st_size > 1000
    assert "no child counts" in write_plot(path, report_of({2: "."}))
    assert not path.exists(), "it would show other trials"
    with pytest.raises(ScoringError, match=r"a plot is a \.png or \.svg file"):
        check_plot(tmp_path / "v.pdf")
