"""Our results compared with published numbers, read from the shared data: AgentMeter, ProgramBench, LongCLI-Bench."""

from __future__ import annotations

import csv
import json
from dataclasses import replace
from pathlib import Path
from statistics import fmean

import pytest

from scoring.agentmeter.profiles import AGENTMETER
from scoring.interventions.facts import NONE
from scoring.interventions.modes import MODES, modes
from scoring.statistics.diagnostics import best_gaps, headline
from scoring.statistics.intervals import mean
from scoring.statistics.pareto import front
from scoring.statistics.rank_correlation import agreement
from tests.scoring.trials import trial

ROUNDING = 0.001 + 1e-9
"""Tolerance: half a unit of the third digit on either side."""


def table(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8") as file:
        return list(csv.DictReader(file))


@pytest.fixture(scope="module")
def table2(shared_data: Path) -> list[dict[str, str]]:
    rows = table(shared_data / "papers" / "agentmeter_table2.csv")
    assert len(rows) == 24
    return rows


def test_agentmeter_ams_is_the_mean_of_the_three_tiers(table2: list[dict[str, str]]) -> None:
    for row in table2:
        tiers = [float(row[f"score_{tier}"]) for tier in ("easy", "medium", "hard")]
        assert float(row["ams"]) == pytest.approx(fmean(tiers), abs=ROUNDING), row


def test_agentmeter_gap_is_to_the_best_of_the_same_model(table2: list[dict[str, str]]) -> None:
    gaps = best_gaps({f"{row['model']}/{row['cli']}": (row["model"], float(row["ams"])) for row in table2})
    for row in table2:
        assert gaps[f"{row['model']}/{row['cli']}"] == pytest.approx(float(row["delta_best"]), abs=ROUNDING), row


def test_agentmeter_passes_add_up_and_bound_the_tier_scores(table2: list[dict[str, str]]) -> None:
    """A tier score is at most alpha SR + (1 - alpha), so no published score is higher than alpha = 0.6 allows."""
    for row in table2:
        by_tier = {tier: int(row[f"passes_{tier}"]) for tier in ("easy", "medium", "hard")}
        assert int(row["passes"]) == sum(by_tier.values()), row
        for tier, passes in by_tier.items():
            most = AGENTMETER.alpha * passes / 10 + 1 - AGENTMETER.alpha
            assert float(row[f"score_{tier}"]) <= most + ROUNDING, row


def test_agentmeter_criteria_choose_what_the_abstract_says(table2: list[dict[str, str]]) -> None:
    named = {(row["model"], row["cli"]): row for row in table2}

    def best(column: str, sign: int) -> tuple[str, str]:
        return max(named, key=lambda name: sign * float(named[name][column]))

    assert best("passes", 1) == ("GLM-5.1", "qwen-coder")
    assert best("tokens_per_pass_millions", -1) == ("GPT-5.3-Codex", "kimi-cli")
    assert best("usd_per_pass", -1) == ("Qwen3.6++", "Codex")
    assert best("ams", 1) == ("Qwen3.6++", "kimi-cli")
    points = {"/".join(name): (float(row["ams"]), float(row["usd_per_pass"])) for name, row in named.items()}
    on_front = front(points)
    assert on_front[0] == "Qwen3.6++/Codex", "the cheapest"
    assert on_front[-1] == "Qwen3.6++/kimi-cli", "the best"


def test_agentmeter_passes_and_ams_rank_configurations_differently(table2: list[dict[str, str]]) -> None:
    scores = [{f"{row['model']}/{row['cli']}": float(row[column]) for row in table2} for column in ("ams", "passes")]
    result = agreement(*scores)
    assert result.configurations == 24
    assert result.spearman is not None
    assert 0 < result.spearman < 0.7


STATISTICS = {
    # submission: (instances, mean calls, mean USD), as published
    "20260429_mini-v2.2.6_opus-4-7": (200, 92.5, 3.81),
    "20260430_mini-v2.2.6_opus-4-6": (200, 259.8, 11.38),
    "20260429_mini-v2.2.6_haiku-4-5": (200, 124.4, 0.80),
    "20260429_mini-v2.2.6_gpt-5-4": (200, 16.2, 0.33),
    "20260429_mini-v2.2.6_sonnet-4-6": (192, 471.8, 26.59),
}


@pytest.mark.parametrize("submission", STATISTICS)
def test_programbench_means_over_the_instances_present(shared_data: Path, submission: str) -> None:
    instances, calls, usd = STATISTICS[submission]
    means = {
        name: mean({iid: [value] for iid, value in figures(shared_data, submission, name).items()}, replicates=100)
        for name in ("calls", "cost")
    }
    assert {estimate.tasks for estimate in means.values()} == {instances}
    assert means["calls"].value == pytest.approx(calls, abs=0.05)
    assert means["cost"].value == pytest.approx(usd, abs=0.005)
    for estimate in means.values():
        assert estimate.low is not None
        assert estimate.high is not None
        assert estimate.value is not None
        assert estimate.low < estimate.value < estimate.high


def test_programbench_output_tokens(shared_data: Path) -> None:
    for submission, instances, tokens in (
        ("20260429_mini-v2.2.6_opus-4-7", 200, 41_669),
        ("20260429_mini-v2.2.6_sonnet-4-6", 192, 198_153),
    ):
        values = figures(shared_data, submission, "tokens")
        assert (len(values), fmean(values.values())) == (instances, pytest.approx(tokens, abs=0.5))
    folders = [path for path in (shared_data / "programbench-stats").iterdir() if path.is_dir()]
    assert len(folders) == 22
    assert sum((path / "tokens.json").is_file() for path in folders) == 20


def test_programbench_headline_of_a_made_submission() -> None:
    """Published: opus-4-7 0.0 % resolved and 3.0 % almost, over a fixed 200: six instances at 0.95 and above."""
    figures = headline({f"i{number}": 0.96 if number < 6 else 0.5 for number in range(192)} | {"none": None}, 200)
    assert (figures.resolved.value, figures.almost.value) == (0, 0.03)
    assert figures.mean.value == pytest.approx((6 * 0.96 + 186 * 0.5) / 200)
    assert (figures.mean.trials, figures.mean.tasks, figures.mean.missing) == (192, 200, 8)


def test_longcli_table_4_is_made_of_20_tasks_and_3_attempts(shared_data: Path) -> None:
    """Each pass rate is a whole number of 60 attempts; rows with that many passes give the published line."""
    rows = table(shared_data / "papers" / "longcli_table4.csv")
    assert [row["mode"] for row in rows] == [*MODES, *MODES]
    for agent in ("Codex", "Claude Code"):
        lines = [row for row in rows if row["agent"] == agent]
        made = [mode for line in lines for mode in attempts_like(line)]
        by_name = {mode.mode: mode for mode in modes(made)}
        assert list(by_name) == list(MODES)
        for line in lines:
            mode = by_name[line["mode"]]
            assert (mode.tasks, mode.attempts) == (20, 60)
            assert mode.pass_rate is not None
            assert 100 * mode.pass_rate == pytest.approx(float(line["pass_pct"]), abs=0.05)
            assert mode.f2p_step == pytest.approx(float(line["f2p_score_pct"]) / 100)
            assert mode.minutes == pytest.approx(float(line["time_min"]))
            interventions = line["interventions_avg"]
            assert mode.interventions == (pytest.approx(float(interventions), abs=0.05) if interventions else None)


def attempts_like(line: dict[str, str]) -> list:
    """Return 60 attempts (with three turns each for self-correction) that have the figures of a published line."""
    passes = round(float(line["pass_pct"]) * 60 / 100)
    hints = round(float(line["interventions_avg"] or 0) * 60)
    turns = (1, 2, 3) if line["mode"] == "self-correction" else (None,)
    return [
        trial(
            f"task-{number % 20}",
            setup=f"{line['agent']}/{line['mode']}",
            attempt=1 + number // 20,
            mode=line["mode"],
            turn=turn,
            interventions=replace(NONE, given=hints // 60 + (number < hints % 60) if hints else None),
            wall_s=float(line["time_min"]) * 60 / len(turns),
            metrics={
                "f2p_step": float(line["f2p_score_pct"]) / 100 if turn in (None, 3) else 0.0,
                "f2p_pass": float(number < passes and turn in (None, 3)),
                "p2p_pass": 1.0,
                "p2p_step": 1.0,
            },
        )
        for number in range(60)
        for turn in turns
    ]


def figures(shared_data: Path, submission: str, name: str) -> dict[str, float]:
    path = shared_data / "programbench-stats" / submission / f"{name}.json"
    return {iid: float(value) for iid, value in json.loads(path.read_text(encoding="utf-8")).items()}
