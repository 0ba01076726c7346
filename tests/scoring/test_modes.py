"""The table of modes, and chains of turns in all other tables."""

from __future__ import annotations

from dataclasses import replace

import pytest

from scoring.interventions.chains import attempts_of, results, with_flags_carried_on
from scoring.interventions.facts import NONE
from scoring.output.tables import table_named
from scoring.report import Report
from scoring.rows import TrialRow
from scoring.score import score
from tests.scoring.trials import trial
from trajectories.record.usage import Costs, Usage

POLICY = replace(NONE, turns=3, feedback="output", conversation="fresh", until="fixed")


def turn(
    task: str, number: int, quality: float, attempt: int = 1, *, until: str = "fixed", **fields: object
) -> TrialRow:
    """Return a turn that took a minute and cost $1."""
    facts = replace(POLICY, until=until, chain_first=f"{task}.chain.{attempt}")
    defaults: dict[str, object] = {
        "directory": f"runs/b/{task}.chain.{attempt}" + (f".t{number}" if number > 1 else ""),
        "identity": f"chain/{task}/{attempt}/{number}",
        "turn": number,
        "mode": "self-correction",
        "quality": quality,
        "wall_s": 60.0,
        "cost_usd": 1.0,
        "steps": 2,
        "usage": Usage(input=10, output=1),
        "interventions": facts,
    }
    return trial(task, "chain", attempt, **{**defaults, **fields})


def base(task: str, quality: float, attempt: int = 1) -> TrialRow:
    return trial(task, "base", attempt, quality=quality, wall_s=30.0, cost_usd=0.5)


def cells(report: Report) -> dict[str, dict[str, object]]:
    """Return the lines of the table of modes by mode and state."""
    table = table_named(report, "modes")
    return {f"{row['mode']} {str(row['state']).partition(',')[0]}".strip(): dict(row) for row in table.rows}


def test_the_result_at_a_turn_is_the_state_at_it_and_any_turn_so_far_and_last_are_apart() -> None:
    rows = [
        *(base(task, quality) for task, quality in (("a", 0.0), ("b", 0.0), ("c", 1.0))),
        *(turn("a", number, quality) for number, quality in ((1, 0.0), (2, 1.0), (3, 0.5))),
        *(turn("b", number, quality) for number, quality in ((1, 0.0), (2, 0.0), (3, 1.0))),
        *(turn("c", number, 1.0) for number in (1, 2, 3)),
    ]
    table = cells(score(rows))
    assert list(table) == [
        "base",
        "self-correction T1",
        "self-correction T2",
        "self-correction T3",
        "self-correction last",
    ]
    t1, t2, t3, last = (table[f"self-correction {state}"] for state in ("T1", "T2", "T3", "last"))
    assert [line["pass_rate"] for line in (t1, t2, t3, last)] == pytest.approx([1 / 3, 2 / 3, 2 / 3, 2 / 3])
    assert [line["any_turn"] for line in (t1, t2, t3, last)] == pytest.approx([1 / 3, 2 / 3, 1, 1])
    assert [line["minutes"] for line in (t1, t2, t3, last)] == [1, 2, 3, 3]
    assert [line["cost_usd"] for line in (t1, t2, t3, last)] == [1, 2, 3, 3]
    assert table["base"]["any_turn"] is None
    less = t2["less_pass_rate"]
    assert (t2["against"], less.value, less.tasks, less.method[:6]) == ("base", pytest.approx(1 / 3), 3, "paired")  # type: ignore[attr-defined]


def test_a_chain_without_base_trials_is_compared_with_its_own_first_turn() -> None:
    rows = [turn(task, number, float(number > 1)) for task in "ab" for number in (1, 2, 3)]
    table = cells(score(rows))
    assert table["self-correction T1"]["against"] is None
    assert [table[f"self-correction {state}"]["against"] for state in ("T2", "last")] == ["T1", "T1"]
    assert table["self-correction T3"]["less_pass_rate"].value == 1  # type: ignore[attr-defined]


def test_a_chain_that_stopped_when_it_passed_is_carried_on_and_marked() -> None:
    rows = [turn("a", 1, 1.0, until="passed"), *(turn("b", number, 0.0, until="passed") for number in (1, 2, 3))]
    table = cells(score(rows))
    assert [table[f"self-correction T{n}"]["pass_rate"] for n in (1, 2, 3)] == [0.5, 0.5, 0.5]
    assert [table[f"self-correction T{n}"]["carried"] for n in (1, 2, 3)] == [None, 1, 1]
    assert table["self-correction T2"]["state"] == "T2, 1 carried on"
    assert [table[f"self-correction T{n}"]["cost_usd"] for n in (1, 2, 3)] == [1, 1.5, 2]


def test_a_fixed_chain_is_not_carried_on_and_a_missing_turn_is_no_part_of_its_means() -> None:
    lost = turn("a", 2, None, exit_reason="infrastructure", exit_cause="environment_lost", verdict=None)
    rows = [turn("a", 1, 1.0), lost, *(turn("b", number, 0.0) for number in (1, 2, 3))]
    report = score(rows)
    table = cells(report)
    t1, t2 = table["self-correction T1"], table["self-correction T2"]
    assert (t1["pass_rate"], t1["tasks"], t1["missing"]) == (0.5, 2, 0)
    assert (t2["pass_rate"], t2["tasks"], t2["missing"]) == (0.0, 1, 1)
    (line,) = report.configurations
    assert (line.trials, line.infrastructure, line.passed.pass_rate.value) == (1, 1, 0.0), "the chain of b alone"
    counted = cells(score(rows, infrastructure="count"))["self-correction T2"]  # type: ignore[arg-type]
    assert (counted["pass_rate"], counted["missing"]) == (0.0, 0)


def test_turns_are_one_attempt_with_the_costs_of_all_turns_in_the_other_tables() -> None:
    rows = [turn(task, number, float(number == 3)) for task in ("a", "b") for number in (1, 2, 3)]
    report = score(rows, tiers={"a": "easy", "b": "hard"})
    (line,) = report.configurations
    assert (line.trials, line.passed.pass_rate.value, line.passed.usd.value) == (2, 1.0, 6.0)
    assert line.passed.tokens.value == 66
    assert [row.passes.k for row in report.passes] == [1]
    assert report.headlines[0].headline.resolved.value == 0, "headlines are the benchmark's, without turns"
    note = report.note("turns")
    assert note is not None
    assert note.text.startswith("6 trials are turns of 2 chains: a chain is one attempt")


def test_two_attempts_of_a_chain_are_not_turns_of_each_other() -> None:
    rows = [turn("a", number, float(attempt == 2), attempt) for attempt in (1, 2) for number in (1, 2, 3)]
    assert len(attempts_of(rows)) == 2
    table = cells(score(rows))
    assert (table["self-correction T3"]["attempts"], table["self-correction T3"]["pass_rate"]) == (2, 0.5)
    again = [replace(row, directory=row.directory.replace("runs/b", "runs/c"), identity="c") for row in rows]
    assert len(attempts_of([*rows, *again])) == 4, "a copy in another batch"


def test_an_unfinished_chain_has_its_turns_and_no_result() -> None:
    report = score([turn("a", 1, 1.0), turn("a", 2, 1.0)])
    table = cells(report)
    assert table["self-correction T2"]["pass_rate"] == 1
    assert (table["self-correction T3"]["attempts"], table["self-correction T3"]["missing"]) == (0, 1)
    assert (table["self-correction last"]["attempts"], table["self-correction last"]["missing"]) == (0, 1)
    assert (report.configurations, report.counts.unfinished) == ((), 1)
    (result,) = results([turn("a", 1, 1.0), turn("a", 2, 1.0)])
    assert not result.completed


def test_sums_over_turns_are_unknown_if_one_is() -> None:
    (gap,) = results([turn("a", 2, 1.0), turn("a", 3, 1.0)])
    assert (gap.cost_usd, gap.wall_s, gap.tokens) == (None, None, None)
    (dark,) = results([turn("a", 1, 1.0, cost_usd=None), turn("a", 2, 1.0), turn("a", 3, 1.0)])
    assert (dark.cost_usd, dark.wall_s, dark.steps, dark.tokens) == (None, 180, 6, 33)


def test_revealed_tests_are_left_out_of_the_benchmarks_own_tables() -> None:
    shown = [
        turn("a", number, 1.0, interventions=replace(POLICY, tests_revealed=True), metrics={"f2p_pass": 1.0})
        for number in (1, 2, 3)
    ]
    report = score([base("a", 0.0), *shown])
    assert [row.setup for row in report.headlines] == ["base"]
    assert report.longcli == ()
    assert {row.setup for row in report.configurations} == {"base", "chain"}
    assert report.note("revealed") is not None


def test_a_turn_is_flagged_by_the_turns_before_it() -> None:
    rows = [turn("a", number, 1.0, flagged=number == 2) for number in (1, 2, 3)]
    assert [row.flagged for row in with_flags_carried_on(rows)] == [False, True, True]


def test_costs_of_plans_count_once_and_those_of_experts_stand_beside() -> None:
    def planned(task: str, attempt: int) -> TrialRow:
        plan = replace(
            NONE,
            plan_record=f"plan-{task}",
            plan_sha256=task,
            plan_usd=0.5,
            plan_by="p/m",
            plan_costs=Costs(computed=0.5),
        )
        return trial(task, "planned", attempt, mode="plan", plan=True, quality=1.0, cost_usd=1.0, interventions=plan)

    rows = [base("a", 0.0), base("b", 0.0), *(planned(task, attempt) for task in "ab" for attempt in (1, 2, 3))]
    asking = replace(NONE, guidance_by="human", max_interventions=3, refusals=1, expert_usd=0.1, expert_costs=Costs())
    rows += [
        trial(task, "asked", mode="interactive", cost_usd=1.0, interventions=replace(asking, given=given))
        for task, given in (("a", 3), ("b", 2))
    ]
    report = score(rows)
    table = cells(report)
    assert (table["plan"]["plan_usd"], table["plan"]["cost_usd"]) == (1.0, 1.0)
    asked = table["interactive"]
    assert (asked["interventions"], asked["refusals"], asked["expert_usd"], asked["cost_usd"]) == (2.5, 1, 0.1, 1.0)
    assert {row["configuration"]: row["expert_usd"] for row in table_named(report, "costs").rows} == {
        "base": None,
        "planned": None,
        "asked": 0.2,
    }
    title = table_named(report, "modes").title
    assert "plan: plan by p/m" in title
    assert "interactive: answers by human, at most 3" in title


def test_the_caption_has_the_feedback_and_the_conversation_and_policies_are_lines_of_their_own() -> None:
    same = replace(POLICY, conversation="same", feedback="scores")
    rows = [turn("a", number, 1.0) for number in (1, 2, 3)]
    rows += [
        replace(row, setup="other", directory=f"{row.directory}.o", identity=f"{row.identity}o", interventions=same)
        for row in rows
    ]
    report = score(rows)
    title = table_named(report, "modes").title
    assert "self-correction (1): 3 turns, feedback output, conversation fresh" in title
    assert "self-correction (2): 3 turns, feedback scores, conversation same" in title
    assert {str(row["mode"]) for row in table_named(report, "modes").rows} == {
        "self-correction (1)",
        "self-correction (2)",
    }
    assert [(row.mode.setup, len(row.mode.turns)) for row in report.interventions] == [("chain", 3), ("other", 3)]


def test_a_record_that_claims_a_billion_turns_is_scored_at_once() -> None:
    facts = replace(POLICY, turns=10**9, until="passed")
    report = score([turn("a", 10**9, 1.0, interventions=facts), turn("b", 1, 1.0, interventions=facts)])
    (row,) = report.interventions
    assert (len(row.mode.turns), row.mode.attempts, row.mode.usd) == (100, 2, 1.0)


def test_a_copy_of_a_turn_beside_it_does_not_vanish() -> None:
    rows = [turn("a", number, 1.0) for number in (1, 2, 3)]
    copies = [replace(row, directory=f"{row.directory}-copy") for row in rows]
    report = score([*rows, *copies], duplicates="all")  # type: ignore[arg-type]
    assert [line.trials for line in report.configurations] == [2]
    assert cells(report)["self-correction T2"]["attempts"] == 2
