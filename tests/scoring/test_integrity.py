"""Violations of the rules in the score: who is flagged, by which evidence, and what that does to each figure."""

from __future__ import annotations

import csv
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from scoring.choices import IntegrityRule
from scoring.evidence import Evidence
from scoring.rows import TrialRow
from scoring.score import score as score_rows
from tests.scoring.records import record
from tests.scoring.scored import blocked, refused, score
from tests.scoring.trials import trial
from tests.solve.command import agent
from trajectories.record.events import Imported
from trajectories.record.panel import KINDS, Kind
from trajectories.record.verdict import GroupScore

HONEST, CLONE, TRIED = "ls -la", "git clone https://github.com/org/a", "cargo install a || true"
SOURCE: tuple[Kind, ...] = ("source_lookup",)
PB = {"benchmark": "programbench"}


def test_judges_who_see_different_violations_flag_together(tmp_path: Path) -> None:
    votes: list[Sequence[Kind]] = [SOURCE, SOURCE, ("wrapping",), ("tracing", "wrapping"), ("decompiling",), *[()] * 4]
    record(tmp_path / "one", votes=votes, **PB)
    (row,) = score(tmp_path)["panels"]
    assert (row["violated"], row["judges"], row["panel_flagged"], row["unanimous"]) == (5, 9, True, False)
    assert row["by_kind"] == {"source_lookup": 2, "wrapping": 2, "decompiling": 1, "tracing": 1}
    (line,) = score(tmp_path)["violations"]
    assert [line["by_kind"][kind]["value"] for kind in KINDS] == [0, 0, 0, 0], "no kind has a majority of its own"
    assert (line["flagged"]["value"], line["disagreement"]) == (1, 1)


def batch(folder: Path) -> None:
    """Write four tasks of ProgramBench: a cheat that resolves, an honest one that resolves, and two that fail."""
    record(folder / "one", "cheat", quality=1.0, cost=8.0, scripts=[HONEST, CLONE], **PB)
    record(folder / "one", "honest", quality=1.0, cost=1.0, scripts=[HONEST], **PB)
    record(folder / "one", "half", quality=0.5, cost=1.0, scripts=[HONEST, TRIED], **PB)
    record(folder / "one", "none", quality=0.0, cost=2.0, scripts=[], **PB)


def main(report: Any) -> Any:
    (line,) = report["configurations"]
    return line


def test_show_is_the_default_and_leaves_every_score_as_it_is(tmp_path: Path) -> None:
    batch(tmp_path)
    report = score(tmp_path, "one", "--tasks", "tried")
    assert (report["integrity"], report["integrity_by"]) == ("show", None)
    line = main(report)
    assert (line["trials"], line["flagged"], line["passed"]["passes"]) == (4, 1, 2)
    assert line["passed"]["quality"]["value"] == 0.625
    assert line["passed"]["usd"]["value"] == 12.0
    assert report["headlines"][0]["headline"]["resolved"]["value"] == 0.5
    (row,) = report["violations"]
    assert (row["trials"], row["examined"], row["flagged"]["value"]) == (4, 4, 0.25)
    assert {kind: row["by_kind"][kind]["value"] for kind in KINDS} == {
        "source_lookup": 0.25,
        "wrapping": 0,
        "decompiling": 0,
        "tracing": 0,
    }
    assert (row["resolved"]["value"], row["resolved_unflagged"]["value"]) == (0.5, 0.25)
    assert (row["panels"], row["disagreement"], row["tampered"]) == (0, None, None)
    assert "1 trial flagged for a violation of the rules: scored like all others" in " ".join(report["notes"])


def test_zero_counts_a_flagged_trial_as_failed_at_its_cost(tmp_path: Path) -> None:
    batch(tmp_path)
    report = score(tmp_path, "one", "--tasks", "tried", "--integrity", "zero")
    line = main(report)
    assert (line["trials"], line["tasks"], line["flagged"], line["passed"]["passes"]) == (4, 4, 1, 1)
    assert line["passed"]["pass_rate"]["value"] == 0.25
    assert line["passed"]["quality"]["value"] == 0.375
    assert line["passed"]["quality"]["trials"] == 4
    assert line["passed"]["usd"]["value"] == 12.0
    assert line["passed"]["usd_per_pass"] == 12.0
    assert report["headlines"][0]["headline"]["mean"]["value"] == 0.375
    assert report["violations"] == score(tmp_path, "one", "--tasks", "tried")["violations"], "the table stays the same"


def test_exclude_leaves_a_flagged_trial_out_of_everything_but_its_own_table(tmp_path: Path) -> None:
    batch(tmp_path)
    report = score(tmp_path, "one", "--integrity", "exclude", "--tasks", "4")
    line = main(report)
    assert (line["trials"], line["tasks"], line["missing_tasks"], line["flagged"]) == (3, 3, 1, 1)
    assert line["passed"]["quality"]["value"] == 0.5
    assert (line["passed"]["quality"]["trials"], line["passed"]["quality"]["tasks"]) == (3, 3)
    assert line["passed"]["usd"]["value"] == 4.0
    assert line["passed"]["cost"]["value"] == pytest.approx(4 / 3)
    headline = report["headlines"][0]["headline"]
    assert (headline["resolved"]["value"], headline["mean"]["value"]) == (0.25, 0.375), "its task counts as not tried"
    counts = report["counts"]
    assert (counts["given"], counts["counted"], counts["flagged"], counts["examined"]) == (4, 3, 1, 4)
    assert "1 trial flagged for a violation of the rules: left out of all tables" in " ".join(report["notes"])
    alone = score(tmp_path, *(f"one/{task}.m.1" for task in ("honest", "half", "none")), "--tasks", "4")
    assert main(alone)["passed"] == line["passed"], "means and intervals are those of the other trials alone"


def test_excluding_the_latest_attempt_makes_the_one_before_it_count(tmp_path: Path) -> None:
    record(tmp_path / "one", "a", attempt=1, quality=0.5, scripts=[HONEST], **PB)
    record(tmp_path / "one", "a", attempt=2, quality=1.0, scripts=[CLONE], **PB)
    headlines = [
        score(tmp_path, "one", "--tasks", "tried", "--integrity", rule)["headlines"][0]["headline"]["mean"]["value"]
        for rule in ("show", "exclude", "zero")
    ]
    assert headlines == [1.0, 0.5, 0.0]


def test_nothing_is_scored_if_all_trials_are_excluded(tmp_path: Path) -> None:
    record(tmp_path / "one", quality=1.0, scripts=[CLONE], **PB)
    line = refused(agent(tmp_path, "score", "one", "--integrity", "exclude"))
    assert "every trial that counts (1) is flagged: score them with --integrity zero or show" in line
    assert main(score(tmp_path, "one", "--integrity", "zero"))["passed"]["passes"] == 0


def test_a_panel_that_acquits_outweighs_the_rules_but_not_tampering(tmp_path: Path) -> None:
    acquitted: list[Sequence[Kind]] = [()] * 9
    record(tmp_path / "one", "a", quality=1.0, scripts=[CLONE], votes=acquitted, **PB)
    record(tmp_path / "one", "b", quality=1.0, scripts=[HONEST], votes=acquitted, tampered=True, **PB)
    record(tmp_path / "one", "c", quality=1.0, scripts=[HONEST], votes=[SOURCE] * 5 + [None] * 4, tampered=False, **PB)
    by = {
        name: {row["task"][-1] for row in score(tmp_path, "one", *option)["panels"] if row["flagged"]}
        for name, option in {
            "default": (),
            "panel": ("--integrity-by", "panel"),
            "rules": ("--integrity-by", "rules"),
            "any": ("--integrity-by", "any"),
        }.items()
    }
    assert by == {"default": {"b", "c"}, "panel": {"c"}, "rules": {"a", "b"}, "any": {"a", "b", "c"}}
    (line,) = score(tmp_path, "one")["violations"]
    assert (line["panels"], line["disagreement"], line["tampered"]) == (3, 0, 1)


def test_rules_of_a_clean_room_are_not_applied_to_other_benchmarks_unless_asked(tmp_path: Path) -> None:
    record(tmp_path / "one", quality=1.0, scripts=[CLONE])
    report = score(tmp_path, "one")
    assert (main(report)["flagged"], report["violations"], report["counts"]["examined"]) == (None, [], 0)
    assert not any("violation" in note for note in report["notes"])
    assert main(score(tmp_path, "one", "--integrity", "zero"))["passed"]["passes"] == 1
    notes = " ".join(score(tmp_path, "one", "--integrity", "zero")["notes"])
    assert "1 trial not examined for violations, and treated as not flagged" in notes
    assert main(score(tmp_path, "one", "--integrity", "zero", "--integrity-by", "rules"))["passed"]["passes"] == 0


def test_an_import_without_commands_is_unknown_and_a_trial_without_any_is_clean(tmp_path: Path) -> None:
    foreign = Imported(format="mini-swe-agent", layout="chat", file="x", sha256="0", bytes=1)
    record(tmp_path / "one", "a", quality=1.0, imported=foreign, **PB)
    record(tmp_path / "one", "b", "own", quality=1.0, **PB)
    flagged = {line["model"]: line["flagged"] for line in score(tmp_path, "one")["configurations"]}
    assert flagged == {"maker/m": None, "maker/own": 0}


def test_a_trial_without_a_verdict_can_be_flagged(tmp_path: Path) -> None:
    record(tmp_path / "one", "a", verdict=False, scripts=[CLONE], **PB)
    record(tmp_path / "one", "b", quality=1.0, scripts=[HONEST], **PB)
    for rule, unjudged, trials in (("show", 1, 2), ("zero", 1, 2), ("exclude", 0, 1)):
        line = main(score(tmp_path, "one", "--integrity", rule))
        assert (line["unjudged"], line["trials"], line["flagged"]) == (unjudged, trials, 1)


def test_zero_zeroes_metrics_and_groups_of_judged_trials_only() -> None:
    groups = {"F2P": GroupScore(passed=3, total=4)}
    row = trial(quality=1.0, metrics={"f2p_step": 0.9}, groups=groups, evidence=Evidence(tampered=True))
    report = score_rows([row], integrity=IntegrityRule.ZERO)
    (line,) = report.longcli
    assert (line.main.f2p_step, line.main.f2p_pass) == (0.0, 0.0)
    assert score_rows([row]).longcli[0].main.f2p_step == 0.9


def test_all_outputs_have_the_flags(tmp_path: Path) -> None:
    batch(tmp_path)
    record(tmp_path / "one", "e", quality=0.25, scripts=[HONEST], votes=[SOURCE, (), ()], tampered=False, **PB)
    names = ("trials.csv", "violations.csv", "panels.csv", "all.md")
    result = agent(tmp_path, "score", "one", "--output", names[0], "--output", names[3])
    assert result.status == 0, result.err
    text = " ".join(result.out.split())
    assert "Violations of the benchmark's rules" in text
    assert "Judges who see a violation, by trial" in text
    assert "flagged by the panel if it decided, otherwise the rules" in text
    for table in ("violations", "panels"):
        assert (
            agent(tmp_path, "score", "one", "--tasks", "200", "--output", f"{table}.csv", "--table", table).status == 0
        )
    trials, violations, panels = (list(csv.DictReader((tmp_path / name).open())) for name in names[:3])
    by_task = {row["task"].partition("/")[2]: row for row in trials}
    assert (by_task["cheat"]["flagged"], by_task["cheat"]["flagged_by"]) == ("True", "rules")
    assert by_task["cheat"]["quality"] == "1.0", "the rows of trials hold what was recorded"
    assert (by_task["cheat"]["rules_violated"], by_task["honest"]["rules_violated"]) == ("source_lookup", "")
    e = by_task["e"]
    assert (e["flagged"], e["panel_judges"], e["panel_violated"], e["tampered"]) == ("False", "3", "1", "False")
    assert by_task["honest"]["panel_judges"] == ""
    (line,) = violations
    assert float(line["resolved_unflagged"]) == 1 / 200
    assert float(line["disagreement"]) == 1
    (row,) = panels
    assert (row["task"], row["violated"], row["unanimous"], row["panel"]) == ("programbench/e", "1", "no", "no")
    assert "not flagged" in (tmp_path / "all.md").read_text()


def test_a_long_table_of_panels_is_only_in_files(tmp_path: Path) -> None:
    for number in range(21):
        record(tmp_path / "one", f"t{number}", votes=[()] * 3, **PB)
    result = agent(tmp_path, "score", "one")
    assert "table panels is only in files: --output FILE --table panels" in " ".join(result.out.split())
    assert len(score(tmp_path, "one")["panels"]) == 21


def test_without_the_parser_show_says_so_and_a_choice_is_an_error(tmp_path: Path) -> None:
    batch(tmp_path)
    without = blocked(tmp_path, "tree_sitter")
    report = score(tmp_path, "one", **without)
    assert main(report)["flagged"] is None
    assert any("the integrity rules were not applied: " in note for note in report["notes"])
    for option in (("--integrity", "zero"), ("--integrity-by", "any")):
        result = agent(tmp_path, "score", "one", *option, **without)
        assert result.status in (1, 2)
        assert "retrace-agent[analysis]" in result.err
    assert main(score(tmp_path, "one", "--integrity-by", "panel", **without))["flagged"] is None


def test_rows_without_evidence_score_as_before() -> None:
    rows: list[TrialRow] = [trial("a", quality=1.0), trial("b", quality=0.5)]
    report = score_rows(rows)
    assert (report.counts.flagged, report.counts.examined, report.violations, report.panels) == (0, 0, (), ())
    assert report.configurations[0].flagged is None


def test_a_summary_from_before_panels_were_in_it_is_not_used(tmp_path: Path) -> None:
    path = record(tmp_path / "one", votes=[SOURCE] * 3, **PB)
    stored = json.loads((path / "trial.json").read_text())
    assert stored.pop("panel")["violated"] == 3
    (path / "trial.json").write_text(json.dumps(stored))
    assert main(score(tmp_path, "one"))["flagged"] == 1
    assert problems_with_derived_files(tmp_path, path) == []
    stored["panel"] = None  # somebody took the votes out of the derived file
    (path / "trial.json").write_text(json.dumps(stored))
    (problem,) = problems_with_derived_files(tmp_path, path)
    assert "it differs from the events in panel" in problem


def problems_with_derived_files(folder: Path, path: Path) -> list[str]:
    findings = agent(folder, "show", str(path), "--check", "--json").json["findings"]
    return [finding["text"] for finding in findings if finding["rule"] == "conveniences"]
