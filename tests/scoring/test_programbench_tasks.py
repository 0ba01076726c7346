"""ProgramBench's own tiers and budgets: the data, their sources, and scores that need no file and mix nothing."""

from __future__ import annotations

import csv
import json
import re
from collections import Counter
from pathlib import Path
from statistics import fmean

import pytest
import yaml

from scoring.agentmeter import ams
from scoring.agentmeter.profiles import AGENTMETER
from scoring.agentmeter.tiers import TIERS
from scoring.errors import ScoringError
from scoring.families.defaults import BUILT_IN, PROGRAMBENCH_FILE, built_in, profile_of, published_tiers
from scoring.families.programbench_tasks import OWN, is_published, published_tiers as tiers_by_id, scored_benchmark
from scoring.score import score as score_rows
from scripts.programbench_profile import latest, main, profile_of as fitted
from tests.scoring.records import record
from tests.scoring.scored import refused, score
from tests.scoring.trials import trial
from tests.solve.command import agent

EASY, MEDIUM, HARD = "abishekvashok__cmatrix.5c082c6", "ajeetdsouza__zoxide.67ca1bc", "ffmpeg__ffmpeg.360a402"
PB = {"benchmark": "programbench"}
FIXTURE = "testorg__calculator.abc1234"
ROOT = Path(__file__).parents[2]


def test_every_task_has_a_tier() -> None:
    tiers = tiers_by_id()
    assert Counter(tiers.values()) == {"easy": 28, "medium": 143, "hard": 29}
    assert all(re.fullmatch(r"[a-z0-9._-]+__[a-z0-9._-]+\.[0-9a-f]{7}", id) for id in tiers)
    assert list(published_tiers("programbench")) == [f"programbench/{id}" for id in tiers]
    assert published_tiers("demo") == {}


def test_the_tiers_are_those_of_the_installed_package() -> None:
    programbench = pytest.importorskip("programbench")
    folder = Path(programbench.__file__).parent / "data" / "tasks"
    stated = {
        path.parent.name: yaml.load(path.read_bytes(), yaml.CSafeLoader).get("difficulty")
        for path in folder.glob("*/task.yaml")
        if not path.parent.name.startswith("testorg__")
    }
    assert stated.keys() == tiers_by_id().keys()
    assert {id: tier for id, tier in stated.items() if tier} == {id: tiers_by_id()[id] for id in stated if stated[id]}
    assert sum(tier is None for tier in stated.values()) == 35


def test_the_tiers_are_those_of_the_paper(shared_data: Path) -> None:
    with (shared_data / "papers" / "programbench_tiers.csv").open(encoding="utf-8") as file:
        paper = {row["instance"]: (row["score_rounded"], row["tier"]) for row in csv.DictReader(file)}
    lines = (PROGRAMBENCH_FILE.parent / "programbench_tiers.csv").read_text(encoding="utf-8").splitlines()
    ours = {row["id"]: (row["score"], row["tier"]) for row in csv.DictReader(line for line in lines if line[0] != "#")}
    assert ours == paper
    for score_rounded, tier in ours.values():  # easy below 2, hard from 4, rounded to one digit
        assert {"easy": 0.0, "medium": 2.0, "hard": 4.0}[tier] - 0.05 <= float(score_rounded)
        assert float(score_rounded) <= {"easy": 2.0, "medium": 4.0, "hard": 10.0}[tier] + 0.05


def test_the_profile_is_made_from_the_published_costs(shared_data: Path) -> None:
    statistics = shared_data / "programbench-stats"
    submissions = latest(statistics)
    profile = built_in("programbench")
    assert fitted(submissions) == profile
    assert profile.submissions == tuple(path.name for path in submissions)
    dropped = {path.parent.name for path in statistics.glob("*/cost.json")} - set(profile.submissions)
    assert dropped == {"20260429_mini-v2.2.6_opus-4-7-xhigh"}, "the same system was submitted again"
    assert "2026-04-29 to 2026-08-02" in profile.source
    assert "github.com/ProgramBench/submissions (MIT)" in profile.source
    costs = {tier: [] for tier in TIERS}
    for path in submissions:
        for id, usd in json.loads((path / "cost.json").read_text()).items():
            costs[tiers_by_id()[id]].append(usd)
    dear = {tier: fmean(usd > AGENTMETER.tiers[tier].grid_usd[-1] for usd in costs[tier]) for tier in TIERS}
    page = " ".join((ROOT / "docs/reference/scoring.md").read_text(encoding="utf-8").split())
    easy, medium, hard = (f"{fmean(costs[tier]):.2f}" for tier in TIERS)
    assert f"costs ${easy} (easy), ${medium} (medium) or ${hard} (hard) on average" in page
    easy, medium, hard = (f"{dear[tier]:.0%}".rstrip("%") for tier in TIERS)
    assert f"{easy}, {medium} and {hard} % of the attempts cost more than the largest budget of `agentmeter`" in page
    for tier in TIERS:
        assert AGENTMETER.tiers[tier].grid_usd[-1] < fmean(costs[tier]) < profile.tiers[tier].grid_usd[-1]


def test_the_script_names_its_argument(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = PROGRAMBENCH_FILE.read_bytes()
    assert main([str(tmp_path)]) == 2
    (tmp_path / "20260101_x").mkdir()
    (tmp_path / "20260101_x" / "cost.json").write_text(json.dumps({EASY: 1.0}))
    assert main([str(tmp_path)]) == 1, "no cost of a medium task"
    assert "the tier medium has no trial that cost anything" in capsys.readouterr().err
    assert PROGRAMBENCH_FILE.read_bytes() == before


def test_a_benchmark_has_a_profile() -> None:
    assert [profile_of(name).name for name in ("programbench", OWN, "demo")] == [*["programbench"] * 2, "agentmeter"]
    assert [built_in(name).name for name in BUILT_IN] == list(BUILT_IN)


def test_instances_that_are_not_among_the_200_have_a_benchmark_of_their_own() -> None:
    assert is_published(f"programbench/{HARD}")
    assert not is_published(f"demo/{HARD}")
    for id, name in ((HARD, "programbench"), ("us__mine.0123456", OWN), (FIXTURE, OWN)):
        assert scored_benchmark("programbench", f"programbench/{id}") == name
    assert scored_benchmark("demo", "demo/ledger") == "demo"


def batch(folder: Path) -> Path:
    """Write one trial of each tier, without a recorded tier, as records that were made before the list existed."""
    record(folder, EASY, quality=1.0, cost=0.5, **PB)
    record(folder, MEDIUM, quality=0.96, cost=5.0, **PB)
    record(folder, HARD, quality=0.5, cost=30.0, scripts=["git clone https://github.com/FFmpeg/FFmpeg"], **PB)
    return folder


def test_a_folder_of_programbench_trials_is_scored_without_a_file(tmp_path: Path) -> None:
    batch(tmp_path / "runs" / "pb")
    report = score(tmp_path, "pb")
    (line,) = report["configurations"]
    outcomes = {
        f"programbench/{id}": [ams.Outcome(quality == 1, quality, usd)]
        for id, quality, usd in ((EASY, 1.0, 0.5), (MEDIUM, 0.96, 5.0), (HARD, 0.5, 30.0))
    }
    expected = ams.score(outcomes, published_tiers("programbench"), built_in("programbench"))
    assert line["ams"]["value"] == pytest.approx(expected.ams)
    assert (line["ams"]["tasks"], line["ams"]["missing"], line["missing_tasks"]) == (200, 197, 197)
    assert line["flagged"] == 1, "the rules of a clean room are applied"
    easy, medium, hard = (row["score"] for row in report["tiers"])
    assert [tier["tasks"] for tier in (easy, medium, hard)] == [28, 143, 29]
    # 0.6 * 1/28 + 0.4 * (4 of 5 budgets) / 28; 0.4 * 0.96 * (2 of 5) / 143; dearer than every budget and the threshold
    assert easy["score"] == pytest.approx((0.6 + 0.4 * 4 / 5) / 28)
    assert medium["score"] == pytest.approx(0.4 * 0.96 * 2 / 5 / 143)
    assert (hard["score"], hard["expensive_failure_rate"]) == (0, pytest.approx(1 / 29))
    headline = report["headlines"][0]["headline"]
    assert (headline["resolved"]["value"], headline["almost"]["value"], headline["mean"]["value"]) == pytest.approx(
        (1 / 200, 2 / 200, 2.46 / 200)
    )
    assert (headline["mean"]["tasks"], headline["mean"]["missing"], headline["mean"]["trials"]) == (200, 197, 3)
    assert (report["profile"]["name"], len(report["profile"]["submissions"])) == ("programbench", 21)
    assert len(report["task_tiers"]) == 200
    assert report["notes"][0].startswith("programbench has 200 tasks: the 197 that nobody tried count as failed")
    shown = agent(tmp_path, "score", "pb").out
    assert "budgets: profile programbench, sha256" in " ".join(shown.split())


def test_tasks_and_tiers_are_chosen_for_programbench_too(tmp_path: Path) -> None:
    batch(tmp_path / "runs" / "pb")

    def resolved(*options: str) -> float:
        return score(tmp_path, "pb", *options)["headlines"][0]["headline"]["resolved"]["value"]

    assert resolved("--tasks", "tried") == pytest.approx(1 / 3)
    assert resolved("--tasks", "4") == 0.25
    (tmp_path / "tasks.txt").write_text(
        "".join(f"programbench/{id}\n" for id in (EASY, MEDIUM, HARD, "jqlang__jq.b33a763"))
    )
    of_four = score(tmp_path, "pb", "--tasks", "tasks.txt")
    assert of_four["task_tiers"].keys() == {f"programbench/{id}" for id in (EASY, MEDIUM, HARD, "jqlang__jq.b33a763")}
    assert of_four["configurations"][0]["ams"]["tasks"] == 4
    recorded = score(tmp_path, "pb", "--tiers", "recorded")
    assert recorded["configurations"][0]["ams"] is None, "these trials record no tier"
    named = score(tmp_path, "pb", "--profile", "agentmeter", "--profile", "programbench")
    assert named["profile"]["name"] == "agentmeter"
    assert named["rankings"][-1]["second"] == "AMS, profile programbench"
    assert "this profile is part of Retrace" in refused(agent(tmp_path, "score", "pb", "--fit-profile", "programbench"))


def test_own_instances_are_never_among_the_200(tmp_path: Path) -> None:
    batch(tmp_path / "runs" / "pb")
    alone = score(tmp_path, "pb")
    record(tmp_path / "runs" / "own", "us__mine.0123456", quality=1.0, tier="easy", **PB)
    record(tmp_path / "runs" / "own", FIXTURE, quality=1.0, **PB)
    own = score(tmp_path, "own")
    assert (own["benchmark"], own["counts"]["tasks"], own["configurations"][0]["ams"]) == (OWN, 2, None)
    assert own["headlines"][0]["headline"]["mean"]["tasks"] == 2
    assert own["notes"][0] == f"{OWN}: none of these tasks is one of ProgramBench's 200, and no figure is over them"
    assert score(tmp_path, "pb")["configurations"] == alone["configurations"]
    mixed = agent(tmp_path, "score", "pb", "own", "--json")
    assert mixed.status == 2
    assert OWN in mixed.err
    assert score(tmp_path, "pb", "own", "--benchmark", "programbench")["configurations"] == alone["configurations"]
    assert score(tmp_path, "pb", "own", "--benchmark", OWN)["configurations"] == own["configurations"]
    listed = agent(tmp_path, "trials", "--benchmark", OWN, "--json").json["trials"]
    assert sorted(trial["task"] for trial in listed) == [f"programbench/{FIXTURE}", "programbench/us__mine.0123456"]


def test_python_callers_get_the_tiers_and_the_profile_of_the_benchmark() -> None:
    rows = [
        trial(f"programbench/{id}", benchmark="programbench", quality=1.0, cost_usd=1.0) for id in (EASY, MEDIUM, HARD)
    ]
    report = score_rows(rows)
    assert (report.profile.name, report.counts.tasks, report.configurations[0].ams is None) == (
        "programbench",
        200,
        False,
    )
    few = score_rows(rows, tasks=[row.task for row in rows])
    assert (few.counts.tasks, few.task_tiers) == (3, dict(zip((row.task for row in rows), TIERS, strict=True)))
    assert score_rows(rows, AGENTMETER, tiers=few.task_tiers).profile.name == "agentmeter"


def test_a_hand_made_row_of_another_task_is_refused_over_the_200() -> None:
    from scoring.statistics.denominators import denominator

    with pytest.raises(ScoringError, match="programbench/x, which is not among the 200 of programbench"):
        denominator([trial("programbench/x", benchmark="programbench")], None)
