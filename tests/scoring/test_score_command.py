"""`agent score` as a user types it: figures computed by hand, and choices."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from tests.scoring.records import record
from tests.scoring.scored import blocked, refused, score
from tests.solve.command import agent
from trajectories.record.events import Chain, Plan
from trajectories.record.usage import Usage
from trajectories.record.verdict import Case


def test_a_small_batch_by_hand(work: Path) -> None:
    report = score(work)
    m, n = report["configurations"]
    assert (m["label"], m["trials"], m["tasks"], m["missing_tasks"], m["infrastructure"]) == ("m", 3, 3, 0, 0)
    assert (n["label"], n["trials"], n["tasks"], n["missing_tasks"], n["infrastructure"]) == ("n", 1, 1, 2, 1)
    # easy: 0.6 * 1 + 0.4 * 3/5; medium: dearer than tau, so 0; hard: 0.6 * 1 + 0.4 * 2/5
    assert [row["score"]["score"] for row in report["tiers"] if row["label"] == "m"] == pytest.approx([0.84, 0, 0.76])
    assert m["ams"]["value"] == pytest.approx((0.84 + 0.76) / 3)
    assert n["ams"]["value"] == pytest.approx(1 / 3)
    assert (m["ams"]["tasks"], n["ams"]["missing"], m["ams"]["low"]) == (3, 2, None)
    rate = m["passed"]["pass_rate"]
    assert (rate["value"], rate["low"], rate["high"]) == pytest.approx((2 / 3, 0.2077, 0.9385), abs=1e-4)
    assert m["passed"]["quality"]["value"] == pytest.approx(2.5 / 3)
    assert m["passed"]["usd"] == {"value": pytest.approx(1.55), "known": pytest.approx(1.55), "unknown": 0}
    assert m["passed"]["usd_per_pass"] == pytest.approx(0.775)
    assert m["passed"]["tokens_per_pass"] == pytest.approx(4 * 1100 / 2)
    assert (m["pareto"], n["pareto"]) == (False, True)
    assert [row["headline"]["resolved"]["value"] for row in report["headlines"]] == pytest.approx([2 / 3, 1 / 3])
    (compared,) = report["comparisons"]
    assert (compared["label"], compared["against_label"], compared["ams"]["value"]) == ("n", "m", pytest.approx(-0.2))
    assert report["task_tiers"] == {"bench/d": "medium", "bench/e": "easy", "bench/h": "hard"}
    assert report["notes"][0] == "1 trial ended by the infrastructure or its evaluator: left out"
    assert report["pricing"]["tables"] == ["litellm-1"]


def test_infrastructure_failures_count_on_request(work: Path) -> None:
    _, n = score(work, "one", "--infrastructure", "count")["configurations"]
    assert (n["trials"], n["passed"]["pass_rate"]["value"], n["passed"]["usd"]["value"]) == (
        2,
        0.5,
        pytest.approx(0.21),
    )


def test_tables_have_figures_intervals_and_numbers_of_trials(work: Path) -> None:
    result = agent(work, "score", "one")
    assert result.status == 0, result.err
    assert " 66.7%  [20.8, 93.9]  3 " in result.out
    assert " 0.533  3 " in result.out
    assert "infra" in result.out
    assert "\x1b" not in result.out
    assert "4 trials of 5 count" in result.out
    narrow = agent(work, "score", "one", COLUMNS="80")
    assert "[20.8, 93.9]" in narrow.out
    table = narrow.out.partition("Configurations\n")[2].partition("\n\n")[0].splitlines()
    assert max(map(len, table)) <= 80
    assert {"configuration", "trials", "tasks", "passed", "95%", "quality", "AMS"} <= set(table[0].split())
    assert "not shown in 80 columns: infra" in " ".join(table)


def test_one_trial_is_enough(work: Path) -> None:
    (line,) = score(work, "runs/one/e.m.1")["configurations"]
    assert (line["trials"], line["passed"]["usd"]["value"], line["ams"]["value"]) == (1, 0.05, None)
    assert "no AMS: no task is in the tier medium or hard" in agent(work, "score", "e.m").out


def test_only_the_record_is_read(work: Path) -> None:
    """The output is identical without Docker, litellm and network, and with stale or without derived files."""
    offline = blocked(work, "docker", "litellm", "openai", "programbench")
    fresh = agent(work, "score", "one", "--json")
    assert fresh.status == 0, fresh.err
    assert agent(work, "score", "one", "--json", **offline).out == fresh.out
    trial = work / "runs" / "one" / "e.m.1"
    convenience = trial / "trial.json"
    content = json.loads(convenience.read_text())
    content["cost_usd"]["computed"] = 99.0
    convenience.write_text(json.dumps(content))
    before = (trial / "events.jsonl").stat().st_mtime - 10
    os.utime(convenience, (before, before))
    assert agent(work, "score", "one", "--json", **offline).out == fresh.out
    for path in work.glob("runs/one/*/*.json"):
        path.unlink()
    assert agent(work, "score", "one", "--json", **offline).out == fresh.out


def test_without_the_extra_figures_have_no_bootstrap_intervals(work: Path) -> None:
    bare = blocked(work, "numpy", "scipy", "pandas", "pyarrow", "matplotlib")
    report = score(work, **bare)
    assert report["configurations"][0]["passed"]["quality"]["low"] is None
    assert any("pip install 'retrace-agent[scoring]'" in note for note in report["notes"])
    for argv in (("--output", "x.parquet"), ("--plots", "x")):
        assert "pip install 'retrace-agent[scoring]'" in refused(agent(work, "score", "one", *argv, **bare))
    assert agent(work, "score", "one", "--output", "x.csv", **bare).status == 0


def test_another_snapshot_prices_every_trial_again(work: Path) -> None:
    rows = ("--set", "maker/m input=6.77e-6 output=13.54e-6 currency=CNY", "--rate", "CNY=6.77")
    assert agent(work, "prices", "snapshot", "yuan", *rows).status == 0
    report = score(work, "one", "--prices", "yuan")
    m = next(row for row in report["configurations"] if row["label"] == "m")
    n = next(row for row in report["configurations"] if row["label"] == "n")
    assert m["passed"]["usd"]["value"] == pytest.approx(4 * (1000 * 1e-6 + 100 * 2e-6))
    assert n["passed"]["usd"] == {"value": None, "known": 0, "unknown": 1}
    assert report["pricing"]["tables"] == ["yuan"]
    assert report["pricing"]["unpriced_models"] == ["n"]
    assert "yuan: no price for n; totals over such trials are unknown" in report["notes"]


def test_a_snapshot_with_gaps_names_them(work: Path) -> None:
    assert agent(work, "prices", "snapshot", "gap", "--set", "maker/m input=1e-6").status == 0
    report = score(work, "one", "--prices", "gap")
    assert report["pricing"]["gaps"] == ["rate of output (maker/m)"]
    assert "gap lacks rate of output (maker/m); totals over trials that need it are unknown" in report["notes"]
    assert report["counts"]["unknown_cost"] == 4


def test_calls_served_by_another_model_are_explained(work: Path) -> None:
    record(work / "runs" / "two", "e", "m", served="z", quality=1.0)
    rows = ("--set", "maker/m input=1e-6 output=1e-6", "--set", "maker/z input=2e-6 output=2e-6")
    assert agent(work, "prices", "snapshot", "both", *rows).status == 0
    report = score(work, "two", "--prices", "both")
    (substitution,) = report["pricing"]["substitutions"]
    assert (substitution["served"], substitution["calls"], substitution["computed_usd"]) == (
        "z",
        1,
        pytest.approx(0.0022),
    )
    assert any("was served by z and priced as maker/z: $0.0022 instead of $0.0011" in note for note in report["notes"])


def test_prices_that_only_uncounted_trials_lack_are_not_named(work: Path) -> None:
    record(work / "runs" / "one", "e", "open", exit=None)
    assert agent(work, "prices", "snapshot", "some", "--set", "maker/m input=1e-6 output=1e-6").status == 0
    assert score(work, "one", "--prices", "some")["pricing"]["unpriced_models"] == ["n"]


def test_a_note_names_a_served_model_that_is_priced_as_the_requested_one(work: Path) -> None:
    record(work / "runs" / "two", "e", "m", served="m-mini", quality=1.0)
    assert agent(work, "prices", "snapshot", "mine", "--set", "maker/m input=1e-6 output=1e-6").status == 0
    notes = score(work, "two", "--prices", "mine")["notes"]
    assert (
        "1 call to maker/m was served by m-mini and priced as maker/m, $0.0011: there is no price for m-mini" in notes
    )


def test_agentmeters_cost_comes_from_the_rates_that_the_trial_recorded(work: Path) -> None:
    m, _ = score(work, "one", "--cost", "agentmeter")["configurations"]
    assert m["passed"]["usd"]["value"] == pytest.approx(4 * 0.0012)


def test_a_second_price_or_cost_is_compared_by_ranking(work: Path) -> None:
    for name, dear in (("a", "1e-3"), ("b", "1e-6")):
        rows = ("--set", f"maker/m input={dear} output=1e-6", "--set", "maker/n input=1e-6 output=1e-6")
        assert agent(work, "prices", "snapshot", name, *rows).status == 0
    report = score(work, "one", "--prices", "a", "--prices", "b", "--cost", "computed", "--cost", "list")
    first, second = report["rankings"]
    assert (first["first"], first["second"]) == ("AMS, prices a", "AMS, prices b")
    # with a, m's easy trial costs $2 and the others $1: in hard 2/5 of the budgets hold it, and medium fails dearly
    assert first["agreement"]["score_mae"] == pytest.approx((((1 + 0.4 * 0.5 + 1) - (0.6 + 0 + 0.76)) / 3 + 0) / 2)
    assert (second["second"], second["agreement"]["spearman"]) == ("AMS, cost list", pytest.approx(1.0))


def test_a_profile_is_fitted_stored_and_used(work: Path) -> None:
    fitted = score(work, "one", "--fit-profile", "mine")
    assert fitted["profile"]["tiers"]["hard"]["grid_usd"] == [1.0] * 5
    assert fitted["profile"]["tiers"]["medium"]["expensive_failure_usd"] == 0.5
    assert any(note.startswith("the profile mine was fitted from these trials") for note in fitted["notes"])
    again = score(work, "one", "--profile", "mine", "--profile", "agentmeter")
    assert again["profile_sha256"] == fitted["profile_sha256"]
    assert again["configurations"] == fitted["configurations"]
    assert again["rankings"][0]["second"] == "AMS, profile agentmeter"
    assert "profiles never change" in refused(agent(work, "score", "one", "--fit-profile", "mine"))
    path = work / "config" / "profiles" / "mine.json"
    path.write_text(path.read_text().replace("0.5", "0.7"))
    assert "it was changed after it was stored" in refused(agent(work, "score", "one", "--profile", "mine"))


def test_budgets_are_not_fitted_to_later_turns_or_revealed_tests(work: Path) -> None:
    before = score(work, "one", "--fit-profile", "before")["profile"]["tiers"]
    batch = work / "runs" / "one"
    chain = Chain(first="h.c.1", turns=2, feedback="scores", conversation="fresh", until="fixed")
    revealed = chain.model_copy(update={"first": "h.r.1", "turns": 1})
    record(batch, "h", "c", quality=1.0, cost=1.0, tier="hard", chain=chain, turn=1)
    record(batch, "h", "c", 2, quality=1.0, cost=1000.0, tier="hard", chain=chain, turn=2)
    record(batch, "h", "r", quality=1.0, cost=1000.0, tier="hard", chain=revealed, turn=1, tests_revealed=True)
    assert score(work, "one", "--fit-profile", "after")["profile"]["tiers"]["hard"] == before["hard"]


def test_tiers_come_from_a_file_or_from_calibration(work: Path) -> None:
    (work / "tiers.yaml").write_text("bench/e: hard\nbench/d: easy\nbench/h: medium\nbench/never: hard\n")
    report = score(work, "one", "--tiers", "tiers.yaml")
    assert [row["score"]["tasks"] for row in report["tiers"][:3]] == [1, 1, 2]
    calibrated = score(work, "one", "--tiers", "calibrate")
    assert sorted(calibrated["task_tiers"].values()) == ["easy", "hard", "medium"]
    assert calibrated["task_tiers"]["bench/d"] == "hard"  # nobody passed it
    (work / "pool.json").write_text(json.dumps(calibrated))
    assert score(work, "one", "--tiers", "pool.json")["task_tiers"] == calibrated["task_tiers"]


def test_a_file_of_tiers_adds_no_tasks_to_those_of_the_option(work: Path) -> None:
    """With `--tasks` of 3 tasks, figures were once over 6."""
    names = [f"bench/{name}" for name in "edhxyz"]
    (work / "tiers.yaml").write_text(
        "".join(f"{name}: {tier}\n" for name, tier in zip(names, ["easy", "medium", "hard"] * 2, strict=True))
    )
    (work / "tasks.txt").write_text("\n".join(names[:3]))
    assert score(work, "one", "--tiers", "tiers.yaml")["counts"]["tasks"] == 6
    for tasks in ("tasks.txt", "tried"):
        report = score(work, "one", "--tiers", "tiers.yaml", "--tasks", tasks)
        assert report["counts"]["tasks"] == 3, tasks
        assert report["configurations"][0]["ams"]["tasks"] == 3
        assert report["headlines"][0]["headline"]["resolved"]["value"] == pytest.approx(2 / 3)


def test_a_task_whose_only_trial_is_left_out_keeps_its_tier(work: Path) -> None:
    """An infrastructure failure once prevented AMS, although its trial records the tier."""
    record(work / "runs" / "one", "h2", "m", tier="hard", exit="environment_lost", verdict=False)
    report = score(work, "one", "--tasks", "4")
    assert report["configurations"][0]["ams"]["value"] == pytest.approx((0.84 + 0.76 / 2) / 3)
    assert "bench/h2" not in score(work, "one")["task_tiers"], "left out, and nobody said that it is a task"


def test_a_batch_is_compared_with_another_pairwise(work: Path) -> None:
    record(work / "runs" / "base", "e", "m", quality=0.25, tier="easy", cost=0.05)
    record(work / "runs" / "base", "h", "m", quality=0.75, tier="hard", cost=0.05)
    report = score(work, "one", "--against", "base")
    (compared,) = [row for row in report["comparisons"] if row["label"] == "m"]
    assert compared["against_label"] == "m @base"
    assert (compared["quality"]["value"], compared["quality"]["tasks"]) == (pytest.approx(0.5), 2)
    assert [row["label"] for row in score(work, "one", "--against", "n")["comparisons"]] == ["m"]


def test_a_table_by_model_keeps_two_batches_apart(work: Path) -> None:
    """The table of modes once averaged the scored batch with the one that it is compared with."""
    plan = Plan(name="plan", sha256="1")
    for batch, passes in (("new", 1.0), ("old", 0.0)):
        record(work / "runs" / batch, "e", "m", quality=passes, metrics={"f2p_pass": passes}, plan=plan)
    modes = score(work, "new", "--against", "old")["modes"]
    assert {row["harness"]: row["mode"]["pass_rate"] for row in modes} == {"retrace": 1, "retrace @old": 0}


def test_comparing_profiles_without_ams_is_an_error_with_the_reason(work: Path) -> None:
    record(work / "runs" / "flat", "e")
    record(work / "runs" / "flat", "d")
    message = refused(agent(work, "score", "flat", "--profile", "agentmeter", "--profile", "agentmeter"))
    assert "profiles differ in AMS only: no AMS: no trial records a tier" in message


def test_attempts_count_by_the_latest_or_all(work: Path) -> None:
    batch = work / "runs" / "three"
    record(batch, "e", quality=0.0, attempt=1)
    record(batch, "e", quality=1.0, attempt=2)
    report = score(work, "three")
    assert [row["passes"]["pass_at_k"] for row in report["passes"]] == [0.5, 1.0]
    assert report["headlines"][0]["headline"]["mean"]["value"] == 1.0
    assert score(work, "three", "--attempts", "all")["headlines"][0]["headline"]["mean"]["value"] == 0.5


def test_longcli_tables_come_from_the_records(work: Path) -> None:
    batch = work / "runs" / "long"
    for turn, passed in ((1, False), (2, True)):
        cases = (
            Case(id="f", group="F2P", status="passed" if passed else "failed"),
            Case(id="p", group="P2P", status="passed"),
        )
        record(batch, "e", attempt=turn, turn=turn, quality=float(passed), cases=cases)
    report = score(work, "long")
    assert [row["mode"]["mode"] for row in report["modes"]] == ["self-correction"]
    result = agent(work, "score", "long")
    assert "State after each turn of self-correction" in result.out
    assert "+100.0%" not in result.out


def test_unknown_usage_gives_an_unknown_cost(work: Path) -> None:
    record(work / "runs" / "dark", usage=Usage(), cost=None)
    report = score(work, "dark")
    assert report["configurations"][0]["passed"]["usd"] == {"value": None, "known": 0, "unknown": 1}
    assert "1 trial of unknown cost (maker/m): within no budget, totals unknown" in report["notes"]
    assert any("--prices NAME prices trials again" in note for note in report["notes"])


def test_trials_that_were_solved_and_evaluated_here(work: Path) -> None:
    """The demo has two sets of tests: all of them pass, or only those that pass in the original workspace."""
    for model in ("oracle", "nop"):
        argv = ("solve", "--task", "demo/cronwhen", "--env", "local", "--model", model, "--runs", "mine", "--json")
        assert agent(work, *argv).status == 0
    (batch,) = {str(path.parent.parent.relative_to(work)) for path in work.glob("mine/*/*/events.jsonl")}
    report = score(work, batch, **blocked(work, "docker", "litellm"))
    best, worst = report["configurations"]
    assert (best["label"], best["passed"]["quality"]["value"]) == ("oracle", 1.0)
    assert (worst["label"], worst["passed"]["quality"]["value"]) == ("nop", pytest.approx(32 / 60))
    assert best["passed"]["usd"]["value"] == 0.0
    assert (best["pareto"], worst["pareto"]) == (True, False)
    (compared,) = report["comparisons"]
    assert compared["quality"]["value"] == pytest.approx(32 / 60 - 1)
    argv = ("solve", "--task", "demo/ledger", "--env", "local", "--model", "oracle", "--runs", "mine")
    assert agent(work, *argv).status == 0
    lines = score(work, batch)["configurations"]
    assert [(row["label"], row["tasks"]) for row in lines] == [("oracle", 2), ("nop", 1)]  # whatever its solutions are
