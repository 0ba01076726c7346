"""A batch by arm: every planned unit is counted once, reruns add their costs alone, and chains are one attempt."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest
from hypothesis import given, settings, strategies as st

from scoring.arms.units import Unit, unit_of, with_arms
from scoring.choices import InfrastructureRule
from scoring.interventions.facts import NONE
from scoring.output.tables import table_named, tables
from scoring.report import Report
from scoring.rows import TrialRow
from scoring.score import score
from scoring.selecting.superseded import without_superseded
from scoring.statistics.clustered import paired_rate, rate_by_task
from tests.scoring.trials import trial
from trajectories.record.usage import Costs, Usage

TASKS = ("a", "b", "c")


def unit(arm: str, task: str, attempt: int = 1, *, place: int = 0, state: str = "", model: str = "m") -> Unit:
    """Return a planned attempt; its trial is named as `trial` names it, with the arm as the setup."""
    return Unit(
        batch="b",
        arm=arm,
        place=place,
        model=model,
        benchmark="bench",
        task=task,
        directory=f"runs/b/{task}.{arm}.{attempt}",
        state=state,
    )


def grid(*arms: str, attempts: int = 2) -> list[Unit]:
    """Return the units of all tasks in these arms."""
    return [
        unit(arm, task, attempt, place=place)
        for place, arm in enumerate(arms)
        for task in TASKS
        for attempt in range(1, attempts + 1)
    ]


def rerun(row: TrialRow, number: int, **fields: object) -> TrialRow:
    """Return the trial that replaced another one."""
    name = f"{row.directory.rpartition('/')[2]}.r{number}"
    replaces = row.trial if number == 1 else f"{row.trial}.r{number - 1}"
    return replace(row, trial=name, directory=f"runs/b/{name}", replaces=replaces, **fields)  # type: ignore[arg-type]


def scored(rows: Sequence[TrialRow], units: Sequence[Unit], **choices: object) -> Report:
    """Score these trials of a batch."""
    return score(rows, units=units, **choices)  # type: ignore[arg-type]


def test_each_arm_has_a_line_in_the_order_of_the_spec_and_the_others_a_difference_to_the_first() -> None:
    units = grid("plain", "again", attempts=1)
    qualities = {"plain": (0.0, 0.0, 1.0), "again": (1.0, 0.5, 1.0)}
    rows = [
        trial(task, arm, quality=quality, cost_usd=1.0 + quality, wall_s=60.0)
        for arm in qualities
        for task, quality in zip(TASKS, qualities[arm], strict=True)
    ]
    report = scored(rows, units)
    assert [(row.arm, row.units, row.counted, row.tasks) for row in report.arms] == [
        ("plain", 3, 3, 3),
        ("again", 3, 3, 3),
    ]
    assert [row.pass_rate.value for row in report.arms] == pytest.approx([1 / 3, 2 / 3])
    assert report.arms[1].total.value == 5.5
    (difference,) = report.arm_differences
    assert (difference.arm, difference.against, difference.pass_rate.tasks) == ("again", "plain", 3)
    expected = paired_rate({"a": [1], "b": [0], "c": [1]}, {"a": [0], "b": [0], "c": [1]})
    assert difference.pass_rate == expected.difference
    assert difference.detectable_pass_rate == expected.detectable
    assert difference.quality.value == pytest.approx(0.5)
    assert difference.wall_s.low is None  # the same time in every task
    assert [table.name for table in tables(report)][:2] == ["arms", "arm-differences"]


def test_models_are_compared_with_the_first_arm_of_their_own() -> None:
    units = [
        unit(arm, task, model=model, place=place)
        for model in "xy"
        for place, arm in enumerate(("p", "q"))
        for task in TASKS
    ]
    units = [replace(each, directory=f"{each.directory}{each.model}") for each in units]
    rows = [
        replace(
            trial(each.task, f"{each.arm}{each.model}", quality=float(each.model == "y" and each.arm == "q")),
            directory=each.directory,
        )
        for each in units
    ]
    report = scored(rows, units)
    assert [(row.model, row.arm) for row in report.arms] == [("x", "p"), ("x", "q"), ("y", "p"), ("y", "q")]
    assert [(row.model, row.against, row.pass_rate.value) for row in report.arm_differences] == [
        ("x", "p", 0),
        ("y", "p", 1),
    ]


def test_units_without_a_result_are_counted_by_their_reason() -> None:
    states = {"a": "not begun", "b": "waits for the budget"}
    units = [unit("p", task, state=states.get(task, "")) for task in (*TASKS, "d", "e", "f")]
    rows = [
        trial("c", "p", quality=1.0),
        trial("d", "p", exit_reason="infrastructure", exit_cause="container_lost", verdict=None),
        trial("e", "p", exit_reason="user", exit_cause="budget", verdict=None),
        trial("f", "p", verdict="error", passed=None, quality=None),
    ]
    (row,) = scored(rows, units).arms
    assert (row.units, row.counted) == (6, 1)
    assert row.left_out == {
        "ended by container_lost": 1,
        "evaluator failed": 1,
        "not begun": 1,
        "not finished": 1,
        "waits for the budget": 1,
    }
    note = scored(rows, units).note("arms")
    assert note is not None
    assert note.text.startswith("5 of 6 planned units have no result: 1 ended by container_lost, 1 evaluator failed")
    counted = scored(rows, units, infrastructure=InfrastructureRule.COUNT).arms[0]
    assert (counted.counted, sum(counted.left_out.values())) == (3, 3)
    assert counted.pass_rate.value == pytest.approx(1 / 3)


def test_a_unit_without_a_verdict_is_in_costs_only() -> None:
    rows = [
        trial("a", "p", quality=1.0, cost_usd=1.0),
        trial("b", "p", verdict=None, passed=None, quality=None, cost_usd=3.0),
    ]
    (row,) = scored(rows, [unit("p", "a"), unit("p", "b")]).arms
    assert (row.counted, row.unjudged, row.pass_rate.value, row.usd.value) == (2, 1, 1.0, 2.0)


def test_a_rerun_counts_alone_with_the_costs_of_all() -> None:
    first = trial(
        "a", "p", exit_reason="infrastructure", verdict=None, cost_usd=2.0, usage=Usage(input=5, output=1), wall_s=9.0
    )
    second = rerun(first, 1, cost_usd=1.0)
    third = rerun(first, 2, exit_reason="agent", verdict="scored", passed=True, quality=1.0, cost_usd=4.0, wall_s=60.0)
    report = scored([third, first, second], [unit("p", "a")])
    (row,) = report.arms
    assert (row.counted, row.superseded, row.superseded_usd, row.total.value, row.wall_s.value) == (
        1,
        2,
        3.0,
        7.0,
        60.0,
    )
    assert report.counts.replaced == 2
    assert report.counts.given == 1
    assert report.configurations[0].trials == 1
    assert report.configurations[0].passed.usd.value == 7.0
    assert report.configurations[0].passed.tokens.value == 18


def test_the_cost_of_a_rerun_is_unknown_without_the_trial_that_it_replaced() -> None:
    (alone,) = without_superseded([rerun(trial("a", "p", cost_usd=2.0), 1)])
    assert (alone.cost_usd, alone.superseded, alone.superseded_usd, alone.tokens) == (None, 0, None, None)
    assert without_superseded([alone]) == [alone]


def test_the_rerun_of_a_chain_replaces_all_of_its_turns() -> None:
    chain = replace(NONE, chain_first="a.p.1", turns=2, feedback="scores", until="fixed")
    first = trial("a", "p", turn=1, interventions=chain, cost_usd=1.0, wall_s=10.0)
    broken = replace(
        trial("a", "p", turn=2, interventions=chain, cost_usd=2.0, exit_reason="infrastructure", verdict=None),
        directory="runs/b/a.p.1.t2",
    )
    chain = replace(chain, chain_first="a.p.1.r1")
    again = rerun(first, 1, interventions=chain, cost_usd=4.0, wall_s=20.0)
    second = replace(again, turn=2, directory="runs/b/a.p.1.r1.t2", replaces=None, passed=True, quality=1.0)
    assert {unit_of(row) for row in (first, broken, again, second)} == {"runs/b/a.p.1"}
    report = scored([first, broken, again, second], [unit("p", "a")])
    (row,) = report.arms
    assert (row.units, row.counted, row.total.value, row.superseded_usd) == (1, 1, 11.0, 3.0)
    assert (row.wall_s.value, row.pass_rate.value) == (40.0, 1)
    assert report.configurations[0].trials == 1


def test_a_name_alone_makes_no_rerun() -> None:
    rows = [trial("a", "p"), replace(trial("a", "p", 2), directory="runs/b/a.p.1.r1")]
    assert without_superseded(rows) == rows


def test_the_cost_of_a_unit_has_its_expert() -> None:
    facts = replace(NONE, expert_costs=Costs(computed=0.5), expert_usd=0.5)
    (row,) = scored([trial("a", "p", interventions=facts, cost_usd=1.0)], [unit("p", "a")]).arms
    assert (row.total.value, row.expert.value) == (1.5, 0.5)


def test_arms_that_share_a_setup_are_kept_apart_in_all_tables() -> None:
    units = [unit("p", "a"), unit("q", "a", place=1)]
    rows = [replace(trial("a", arm), setup="same", label="same") for arm in "pq"]
    assert {row.setup for row in with_arms(rows, units)} == {"same+arm=p", "same+arm=q"}
    report = scored(rows, units)
    assert len(report.configurations) == 2
    assert len({row.label for row in report.configurations}) == 2


def test_trials_without_a_grid_have_no_table_of_arms() -> None:
    report = score([trial("a")])
    assert (report.arms, report.arm_differences) == ((), ())
    assert not table_named(report, "arms").rows
    assert report.note("arms") is None


@settings(max_examples=60, deadline=None)
@given(
    st.lists(
        st.tuples(
            st.sampled_from(["p", "q"]),
            st.sampled_from(TASKS),
            st.integers(1, 3),
            st.sampled_from(["passed", "failed", "broken", "stopped", "unjudged", "never"]),
            st.integers(0, 2),
        ),
        min_size=1,
        unique_by=lambda each: each[:3],
    )
)
def test_no_unit_and_no_cost_is_lost(plan: list[tuple[str, str, int, str, int]]) -> None:
    units, rows = [], [trial("z", "p", quality=1.0, cost_usd=1.0)]
    for arm, task, attempt, end, reruns in plan:
        units.append(unit(arm, task, attempt, place="pq".index(arm)))
        ends: dict[str, dict[str, object]] = {
            "passed": {"quality": 1.0},
            "failed": {},
            "broken": {"exit_reason": "infrastructure", "verdict": None},
            "stopped": {"exit_reason": None, "verdict": None},
            "unjudged": {"verdict": None, "passed": None, "quality": None},
        }
        if end == "never":
            continue
        first = trial(task, arm, attempt, cost_usd=1.0, **ends[end])
        rows += [first, *(rerun(first, number) for number in range(1, reruns + 1))]
    report = scored(rows, [*units, unit("p", "z")])
    assert sum(row.units for row in report.arms) == len(units) + 1
    for row in report.arms:
        assert row.units == row.counted + sum(row.left_out.values())
        counted = [each for each in plan if each[0] == row.arm and each[3] in ("passed", "failed", "unjudged")]
        extra = int(row.arm == "p")
        assert row.counted == len(counted) + extra
        assert row.total.value == sum(1 + each[4] for each in counted) + extra
        judged: dict[str, list[float]] = {"z": [1.0]} if extra else {}
        for _, task, _, end, _ in counted:
            if end != "unjudged":
                judged.setdefault(task, []).append(float(end == "passed"))
        assert row.pass_rate.value == rate_by_task(judged).value
