"""Passes and their price, effort, headlines, gaps; the tables of LongCLI-Bench and CLI-Tool-Bench."""

from __future__ import annotations

import math

import pytest

from scoring.errors import ScoringError
from scoring.families import clitool, longcli
from scoring.families.longcli import Turn
from scoring.interventions import modes as longcli_modes
from scoring.statistics.diagnostics import best_gaps, effort_by_tier, headline, passed
from tests.scoring.trials import trial
from trajectories.record.usage import Usage
from trajectories.record.verdict import GroupScore


def test_a_pass_costs_what_all_trials_used() -> None:
    passes = passed(
        [
            trial("a", quality=1.0, cost_usd=1.0, usage=Usage(input=100, output=0)),
            trial("b", quality=0.5, cost_usd=2.0, usage=Usage(input=300, output=0)),
        ],
        missing=1,
    )
    assert (passes.passes, passes.tokens_per_pass, passes.usd_per_pass) == (1, 400, 3)
    assert (passes.pass_rate.value, passes.quality.value, passes.cost.value) == (0.5, 0.75, 1.5)
    assert (passes.quality.trials, passes.quality.tasks, passes.quality.missing) == (2, 2, 1)


def test_an_unknown_cost_makes_the_total_unknown_and_keeps_the_known_part() -> None:
    passes = passed([trial("a", quality=1.0, cost_usd=1.0), trial("b", cost_usd=None)])
    assert (passes.usd.value, passes.usd.known, passes.usd.unknown, passes.usd_per_pass) == (None, 1, 1, None)
    assert passed([trial("a", cost_usd=1.0)]).usd_per_pass is None, "no pass, no price of one"


def test_trials_without_a_verdict_are_missing_from_rates() -> None:
    passes = passed([trial("a", quality=1.0), trial("b", verdict=None, passed=None, quality=None)])
    assert (passes.pass_rate.value, passes.pass_rate.trials, passes.pass_rate.missing) == (1, 1, 1)


def test_effort_is_by_tier_and_outcome() -> None:
    rows = [
        trial("a", quality=1.0, steps=10, cost_usd=1.0),
        trial("b", steps=20, cost_usd=None),
        trial("c", steps=40, cost_usd=3.0),
        trial("d", steps=90, cost_usd=4.0),
    ]
    efforts = effort_by_tier(rows, {"a": "easy", "b": "hard", "c": "hard", "d": "hard"})
    assert [(effort.tier, effort.passed, effort.trials) for effort in efforts] == [
        ("all", True, 1),
        ("all", False, 3),
        ("easy", True, 1),
        ("hard", False, 3),
    ]
    assert (efforts[1].steps.mean, efforts[1].steps.median) == (50, 40)
    assert (efforts[1].cost_usd.n, efforts[1].cost_usd.mean) == (2, 3.5)


def test_a_headline_has_a_fixed_denominator() -> None:
    figures = headline({"a": 1.0, "b": 0.95, "c": 0.5, "d": None}, 10)
    assert (figures.resolved.value, figures.almost.value, figures.mean.value) == (0.1, 0.2, pytest.approx(0.245))
    assert (figures.mean.tasks, figures.mean.trials, figures.mean.missing) == (10, 3, 7)
    with pytest.raises(ScoringError, match="2 tasks have a score, more than the 1"):
        headline({"a": 1.0, "b": 1.0}, 1)
    with pytest.raises(ScoringError, match=r"a: its score is 1\.5"):
        headline({"a": 1.5}, 1)


def test_a_gap_is_to_the_best_score_of_the_same_model_and_none_without_a_score() -> None:
    gaps = best_gaps({"a": ("m", 0.5), "b": ("m", 0.25), "c": ("m", None), "d": ("n", 0.1), "e": ("o", None)})
    assert gaps == {"a": 0, "b": 0.25, "c": None, "d": 0, "e": None}


def turn(task: str = "t", attempt: int = 1, number: int = 1, **values: object) -> Turn:
    fields: dict[str, object] = dict.fromkeys(("f2p_pass", "p2p_pass", "f2p_step", "p2p_step", "wall_s"))
    return Turn(task, ("s", "b", attempt), number, **{**fields, "hints": 0, **values})  # type: ignore[arg-type]


def test_the_papers_pass_at_3_joins_two_attempts() -> None:
    """One attempt passes only F2P, another only P2P: a pass by the paper's definition, but not for the unbiased
    figure."""
    table = longcli.first_turns(
        [
            turn("t", 1, f2p_pass=True, p2p_pass=False),
            turn("t", 2, f2p_pass=False, p2p_pass=True),
            turn("t", 3, f2p_pass=False, p2p_pass=False),
        ]
    )
    assert (table.pass_rate, table.pass_at_3_paper, table.pass_at_3) == (0, 1, 0)
    assert table.f2p_pass == pytest.approx(1 / 3)


def test_means_are_over_attempts_then_tasks_and_missing_ones_are_left_out() -> None:
    table = longcli.first_turns(
        [
            turn("a", 1, f2p_pass=True, f2p_step=1.0, wall_s=60.0),
            turn("a", 2, f2p_pass=False, f2p_step=0.5, wall_s=120.0),
            turn("b", 1, f2p_pass=True, f2p_step=1.0),
            turn("c", 1),
        ]
    )
    assert (table.tasks, table.attempts, table.pass_rate, table.f2p_step) == (3, 4, 0.75, 0.875)
    assert (table.minutes, table.p2p_pass) == (1.5, None)


def test_buckets_of_steps() -> None:
    steps = [-0.775, 0.0, 0.2999, 0.3, 0.6, 0.8, 0.999, 1.0, None]
    assert longcli.f2p_step_buckets([turn(str(step), f2p_step=step) for step in steps]) == {
        "[0, 0.3)": 3,
        "[0.3, 0.6)": 1,
        "[0.6, 0.8)": 1,
        "[0.8, 1)": 2,
        "[1]": 1,
    }


def test_a_turn_shows_its_own_state_and_differences() -> None:
    turns = [
        turn("t", 1, 1, f2p_pass=False, p2p_pass=True, f2p_step=0.0, p2p_step=1.0),
        turn("t", 1, 2, f2p_pass=True, p2p_pass=True, f2p_step=1.0, p2p_step=1.0),
        turn("t", 1, 3, f2p_pass=True, p2p_pass=False, f2p_step=1.0, p2p_step=0.5),
    ]
    table = longcli.states_by_turn(turns)
    assert [(state.turn, state.pass_rate, state.step) for state in table] == [(1, 0, 0.5), (2, 1, 1.0), (3, 0, 0.75)]
    apart = [(state.before, state.after, state.pass_rate, state.step) for state in longcli.turn_differences(table)]
    assert apart == [(1, 2, 1, 0.5), (2, 3, -1, -0.25), (1, 3, 0, 0.25)]


def test_table_4_has_a_line_for_each_mode_and_each_variant_of_the_benchmark() -> None:
    rows = [trial("a"), trial("a", "s", mode="plan"), trial("a", "t", mode="plan", variant="no-docs")]
    assert [mode.mode for mode in longcli_modes.modes(rows)] == ["base", "plan", "plan +no-docs"]
    assert [mode.mode for mode in longcli_modes.modes([trial("a", variant="interactive")])] == ["base +interactive"]


def test_two_configurations_in_one_mode_are_separate_attempts() -> None:
    """With two prompts in one batch, the failed attempt was once taken for a turn of the one that passed."""
    rows = [
        trial("a", setup, plan=True, mode="plan", quality=q, wall_s=60.0, metrics={"f2p_pass": q})
        for setup, q in (("s", 1.0), ("t", 0.0))
    ]
    table = longcli_modes.modes(rows)
    assert [(mode.setup, mode.attempts, mode.pass_rate, mode.minutes) for mode in table] == [
        ("s", 1, 1.0, 1),
        ("t", 1, 0.0, 1),
    ]


def test_groups_replace_missing_metrics() -> None:
    row = trial("a", groups={"F2P": GroupScore(passed=1, total=4), "P2P": GroupScore(passed=2, total=2)})
    (judged,) = longcli.turns_of([row])
    assert (judged.f2p_step, judged.f2p_pass, judged.p2p_step, judged.p2p_pass, judged.all_pass) == (
        0.25,
        False,
        1.0,
        True,
        False,
    )
    (lost,) = longcli.turns_of([trial("a", verdict=None, passed=None, quality=None)])
    assert (lost.all_pass, lost.f2p_step) == (None, None)


def test_a_repository_is_the_mean_of_its_classes() -> None:
    """Three classes: 40 passes of 49 valid cases, 25 of 50, and a class without a valid case."""
    assert clitool.class_mean({"A": (40, 49), "B": (25, 50), "C": (0, 0)}) == pytest.approx(0.658, abs=5e-4)
    assert clitool.class_mean({"C": (0, 0)}) is None


def test_the_table_of_a_suite() -> None:
    rows = [
        trial("a", metrics={"build": 1, "exec": 0.8, "em:ls": 0.5, "em:rm": 0.7, "fm": 0.9}, facts={"language": "go"}),
        trial("b", metrics={"build": 0, "exec": 0.9, "sm": 0.9}, facts={"language": "python"}),
        trial("c", verdict="error", passed=None, quality=None, facts={"language": "python"}),
    ]
    every, go, python = clitool.suite_lines(rows, group=lambda row: row.facts["language"])
    assert (every.group, go.group, python.group) == ("all", "go", "python")
    assert every.figures["build"].mean == 0.5
    assert every.figures["exec"].mean == pytest.approx(0.4), "what was not built scores 0"
    assert every.figures["em"].mean == pytest.approx(0.3)
    assert (every.figures["sm"].mean, every.figures["sm"].repositories, every.figures["sm"].missing) == (0, 1, 2)
    assert (python.figures["build"].repositories, python.figures["build"].missing) == (1, 1)
    figure = clitool.figure([0.2, 0.4, 0.9, None])
    assert figure.sd == pytest.approx(0.3605551)
    assert figure.high == pytest.approx(0.5 + 1.645 * 0.3605551 / math.sqrt(3))
    assert (clitool.figure([0.5]).sd, clitool.figure([]).mean) == (None, None)
