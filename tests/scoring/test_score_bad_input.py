"""Errors of `agent score`: one line that names the trial, the value and the way out."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from tests.scoring.records import record
from tests.scoring.scored import refused, score
from tests.solve.command import agent


def test_an_unreadable_trial_of_a_batch_is_left_out_only_on_request(work: Path) -> None:
    broken = work / "runs" / "one" / "broken.1"
    broken.mkdir()
    (broken / "events.jsonl").write_text("{}\n")
    assert "broken.1" in refused(agent(work, "score", "one"))
    report = score(work, "one", "--unreadable", "exclude")
    assert [trial["trial"] for trial in report["unreadable"]] == ["runs/one/broken.1"]
    assert report["notes"][-1].startswith("1 unreadable, left out; the first: ")
    assert "broken.1" in refused(agent(work, "score", "runs/one/broken.1"))


@pytest.mark.parametrize("value", ["NaN", "-0.5", "Infinity"])
def test_an_impossible_cost_names_the_trial(work: Path, value: str) -> None:
    events = work / "runs" / "one" / "d.m.1" / "events.jsonl"
    text = events.read_text()
    assert '"computed":0.5' in text
    events.write_text(text.replace('"computed":0.5', f'"computed":{value}'))
    later = events.stat().st_mtime + 10
    os.utime(events, (later, later))
    message = refused(agent(work, "score", "one"))
    assert "d.m.1" in message
    assert "cost" in message or "computed" in message


def test_two_trials_with_the_same_identity(work: Path) -> None:
    twin = work / "runs" / "one" / "twin"
    shutil.copytree(work / "runs" / "one" / "e.m.1", twin)
    message = refused(agent(work, "score", "one"))
    assert "both claim attempt 1" in message
    assert "--duplicates" in message
    assert score(work, "one", "--duplicates", "latest")["counts"]["superseded"] == 1
    assert score(work, "one", "--duplicates", "all")["counts"]["counted"] == 5


def test_a_batch_without_a_finished_trial_is_rejected(work: Path) -> None:
    record(work / "runs" / "open", exit=None)
    assert "none of 1 trials has finished" in refused(agent(work, "score", "open"))
    record(work / "runs" / "lost", exit="environment_lost", verdict=False)
    assert "1 ended by the infrastructure" in refused(agent(work, "score", "lost"))
    assert score(work, "lost", "--infrastructure", "count")["configurations"][0]["passed"]["passes"] == 0


def test_an_exchange_rate_of_zero_in_an_edited_snapshot_is_reported(work: Path) -> None:
    rows = ("--set", "maker/m input=1e-6 output=1e-6 currency=CNY", "--rate", "CNY=6.77")
    assert agent(work, "prices", "snapshot", "yuan", *rows).status == 0
    path = work / "config" / "prices" / "yuan.json"
    path.chmod(0o644)
    path.write_text(path.read_text().replace("6.77", "0"))
    message = refused(agent(work, "score", "one", "--prices", "yuan"))
    assert "yuan.json" in message
    assert "an exchange rate of 0" in message


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        (("empty",), "empty: neither a trial nor a batch"),
        (("nothing",), "no trial 'nothing'"),
        (("one", "other", "--json"), "--json needs trials of one benchmark; choose it with --benchmark NAME: "),
        (("odd",), "unknown tier 'silly'"),
        (("one", "--prices", "none"), "--prices none: there is no snapshot of that name"),
        (("one", "--profile", "none"), "--profile none: there is no profile of that name"),
        (("one", "--profile", "a/none.json"), "a/none.json: cannot be read"),
        (("one", "--profile", "x", "--fit-profile", "y"), "leave out --profile"),
        (("one", "--fit-profile", "agentmeter"), "choose another name"),
        (
            ("one", "--tiers", "none.yaml"),
            "--tiers none.yaml: there is no such file; use published, recorded, calibrate, or",
        ),
        (("one", "--tasks", "2"), "--tasks 2: the trials and tiers are of 3 tasks"),
        (("one", "--tasks", "none.txt"), "--tasks none.txt: there is no such file; use a number, tried, or"),
        (("one", "--against", "none"), "no configuration 'none' to compare with: there are 'm', 'n'"),
        (("one", "--against", "one"), "is also among the scored trials"),
        (
            ("one", "--against", "other"),
            "--against other: its trials are of 'elsewhere', the scored ones of 'bench'",
        ),
        (
            ("other", "--profile", "agentmeter", "--profile", "agentmeter"),
            "differ in AMS only: no AMS: no trial records",
        ),
        (("other", "--fit-profile", "y"), "no profile can be fitted: no trial records a tier"),
        (("one", "--level", "1"), "a level of 1.0"),
        (("one", "--replicates", "0"), "0 bootstrap replicates"),
        (("one", "--output", "x.xls"), "unknown suffix '.xls'"),
        (("one", "--output", "no/x.csv"), "no/x.csv: cannot be written"),
        (("one", "--table", "tiers"), "name one with --output"),
        (("one", "--table", "none", "--output", "x.csv"), "there is no such table"),
        (("one", "--format", "svg"), "choose their directory with --plots DIR"),
    ],
)
def test_a_usage_error_is_one_line(work: Path, argv: tuple[str, ...], message: str) -> None:
    (work / "empty").mkdir()
    record(work / "runs" / "other", benchmark="elsewhere")
    record(work / "runs" / "odd", tier="silly")
    assert message in refused(agent(work, "score", *argv))
