"""`agent trials` and `agent score` select trials as a user types it."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path

import pytest

from agent.cli.selecting import moment
from agent.errors import UserError
from tests.records.compared import ReadOnlyResult, read_only
from tests.scoring.records import record
from tests.solve.command import agent

NOW = datetime(2026, 11, 22, 12, 0, tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "time"),
    [
        ("2026-11-01", "2026-11-01T00:00:00.000Z"),
        ("2026-11-01T09:00Z", "2026-11-01T09:00:00.000Z"),
        ("2026-11-01 09:00:30+01:00", "2026-11-01T08:00:30.000Z"),
        ("2d", "2026-11-20T12:00:00.000Z"),
        ("3h", "2026-11-22T09:00:00.000Z"),
        ("1.5h", "2026-11-22T10:30:00.000Z"),
        ("45m", "2026-11-22T11:15:00.000Z"),
    ],
)
def test_since_takes_dates_times_with_a_zone_and_durations(text: str, time: str) -> None:
    assert moment(text, NOW) == time


@pytest.mark.parametrize(
    "text",
    ["", "2", "90", "2026", "2026-11", "2026-13-01", "2026-11-01T09:00", "yesterday", "-2d", "2 d", "999999w", "٣d"],
)
def test_since_has_one_clear_error(text: str) -> None:
    with pytest.raises(UserError) as caught:
        moment(text, NOW)
    assert str(caught.value) == (
        f"--since {text!r}: write a date (2026-11-01), a time with its zone (2026-11-01T09:00Z, "
        "2026-11-01T09:00+01:00) or a duration (2d, 3h, 45m)"
    )


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two benchmarks in one folder."""
    runs = tmp_path_factory.mktemp("selecting") / "runs"
    record(runs / "mixed", "ledger", "opus", quality=1.0)
    record(runs / "mixed", "spans", "opus")
    record(runs / "mixed", "ledger", "opus", attempt=2, benchmark="other", quality=1.0)
    return runs


def trials(runs: Path, *argv: str) -> list[str]:
    result = read_only("trials", "--runs", str(runs), "--json", *argv)
    assert result.status == 0, result.err
    return sorted(Path(trial["trial"]).name for trial in result.json["trials"])


def score(runs: Path, *argv: str) -> ReadOnlyResult:
    return read_only("score", "--runs", str(runs), "--replicates", "1", *argv)


def test_trials_are_listed_by_conditions_and_patterns(runs: Path) -> None:
    assert trials(runs, "--task", "spans") == ["spans.opus.1"]
    assert trials(runs, "--benchmark", "other") == ["ledger.opus.2"]
    assert trials(runs, "ledger*", "--benchmark", "bench") == ["ledger.opus.1"]
    assert trials(runs, "mixed", "--since", "1d", "--model", "op*") == [
        "ledger.opus.1",
        "ledger.opus.2",
        "spans.opus.1",
    ]
    assert len(trials(runs, "--limit", "2")) == 2
    (newest,) = trials(runs, "--limit", "1")
    assert newest == "ledger.opus.2"


def test_a_list_without_a_match_tells_what_there_is(runs: Path) -> None:
    result = read_only("trials", "--runs", str(runs), "--task", "jq")
    assert (result.status, result.out) == (0, b"")
    assert "no trial matches --task 'jq'; there are the tasks bench/ledger (1 trial)" in result.err
    assert read_only("trials", "--runs", str(runs), "--task", "jq", "--json").json == {"trials": []}


def test_a_mixed_folder_makes_one_report_per_benchmark(runs: Path) -> None:
    result = score(runs)
    assert result.status == 0, result.err
    text = result.out.decode()
    assert text.index("bench: 2 trials of 2 count") < text.index("other: 1 trial of 1 count")


@pytest.mark.parametrize(
    "argv",
    [
        ("--json",),
        ("--output", "x.csv"),
        ("--tasks", "5"),
        ("--fit-profile", "mine"),
        ("--against", "opus"),
    ],
)
def test_some_options_need_one_benchmark(runs: Path, tmp_path: Path, argv: tuple[str, ...]) -> None:
    argv = tuple(str(tmp_path / word) if word == "x.csv" else word for word in argv)
    result = score(runs, *argv)
    assert (result.status, result.out) == (2, b"")
    assert result.err == (
        f"agent: {argv[0]} needs trials of one benchmark; choose it with --benchmark NAME: "
        "bench (2 trials), other (1 trial)\n"
    )
    assert list(tmp_path.iterdir()) == []


def test_one_benchmark_is_scored_by_its_name(runs: Path) -> None:
    report = score(runs, "--benchmark", "other", "--json").json
    assert report["benchmark"] == "other"
    assert report["counts"]["given"] == 1


def test_a_report_tells_that_its_trials_were_selected(runs: Path) -> None:
    """Otherwise a report over the best trials looks like a report over all."""
    report = score(runs, "mixed", "--task", "ledger", "--benchmark", "bench", "--json").json
    assert report["notes"][0] == "1 of 3 trials were selected by --task 'ledger', --benchmark 'bench'"
    assert score(runs, "--limit", "2", "--benchmark", "bench", "--json").json["notes"][0].startswith("2 of 3 trials")
    assert "selected" not in score(runs, "mixed/spans*", "--json").json["notes"][0]


def test_a_score_without_a_match_is_the_users_error(runs: Path) -> None:
    result = score(runs, "--model", "gpt-*")
    assert (result.status, result.out) == (2, b"")
    assert result.err == "agent: no trial matches --model 'gpt-*'; there are the models opus (3 trials)\n"


def test_a_benchmark_that_cannot_be_scored_does_not_hide_the_others(tmp_path: Path) -> None:
    record(tmp_path / "runs" / "b", "ledger", exit=None)
    record(tmp_path / "runs" / "b", "ledger", attempt=2, benchmark="other")
    result = score(tmp_path / "runs")
    assert result.status == 2
    assert "agent: bench: none of 1 trials has finished" in result.err
    assert "other: 1 trial of 1 count" in result.out.decode()


def test_an_unreadable_trial_is_not_selected_away(tmp_path: Path) -> None:
    record(tmp_path / "runs" / "b", "ledger")
    broken = tmp_path / "runs" / "b" / "broken"
    broken.mkdir()
    (broken / "events.jsonl").write_text("nonsense\n")
    refused = score(tmp_path / "runs", "--task", "ledger")
    assert refused.status == 2
    assert "--unreadable exclude" in refused.err
    excluded = score(tmp_path / "runs", "--task", "ledger", "--unreadable", "exclude", "--json")
    assert json.loads(excluded.out)["counts"]["counted"] == 1
    listed = read_only("trials", "--runs", str(tmp_path / "runs"), "--task", "ledger")
    assert "1 unreadable trial left out" in listed.err


def test_a_label_and_a_batch_are_no_part_of_an_identity(tmp_path: Path) -> None:
    (tmp_path / "start").mkdir()
    adhoc = ("--instruction", "Say hello.", "--workspace", "start", "--env", "local", "--model", "nop", "--json")
    plain = agent(tmp_path, "solve", *adhoc)
    assert plain.status == 0, plain.err
    named = agent(tmp_path, "solve", *adhoc, "--batch", "june", "--label", "second try")
    assert named.status == 0, named.err
    assert named.trial.parent == tmp_path / "runs" / "june"
    assert (plain.json["label"], named.json["label"]) == (None, "second try")
    assert plain.events[0].identity == named.events[0].identity
    assert plain.json["entry"]["setup"] == named.json["entry"]["setup"]
    assert trials(tmp_path / "runs", "--label", "second*") == [named.trial.name]
    fork = agent(tmp_path, "show", str(named.trial), "--json")
    assert fork.json["label"] == "second try"


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        (("--label", ""), "--label '': write one line of 1 to 100 printable characters"),
        (("--label", "a\nb"), r"--label 'a\nb': write one line"),
        (("--label", "x" * 101), "write one line of 1 to 100"),
        (("--batch", "a/b"), "'a/b' cannot name a batch"),
        (("--batch", ".pool"), "'.pool' cannot name a batch"),
        (("--batch", "mixed/../x"), "cannot name a batch"),
    ],
)
def test_a_bad_label_or_batch_is_the_users_error(tmp_path: Path, argv: tuple[str, ...], message: str) -> None:
    result = read_only("solve", "--task", "demo/ledger", "--model", "nop", "--runs", str(tmp_path), "--dry-run", *argv)
    assert (result.status, result.out) == (2, b"")
    assert message in result.err


def test_a_trial_or_a_file_is_no_batch(tmp_path: Path) -> None:
    record(tmp_path, "ledger")
    (tmp_path / "notes").touch()
    for name in ("ledger.m.1", "notes"):
        result = read_only(
            *("solve", "--task", "demo/ledger", "--model", "nop", "--runs", str(tmp_path), "--dry-run"),
            *("--batch", name),
        )
        assert result.status == 2
        assert f"--batch {name}: {tmp_path / name} is not a folder of trials" in result.err
