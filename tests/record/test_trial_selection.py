"""Selection of trials by conditions and patterns, from summaries alone."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.scoring.records import record
from trajectories.errors import RecordError
from trajectories.reading import runs as finding
from trajectories.reading.runs import directories_named, listed, trial_directories
from trajectories.reading.selection import EVERY, Selection, TrialFilter, fits


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    runs = tmp_path_factory.mktemp("selection") / "runs"
    record(runs / "first", "ledger", "opus")
    record(runs / "first", "spans", "haiku")
    record(runs / "second", "ledger", "haiku", benchmark="other")
    return runs


def names(wanted: TrialFilter, runs: Path) -> list[str]:
    return sorted(trial.directory.name for trial in Selection(wanted).of(map(listed, trial_directories(runs))))


@pytest.mark.parametrize(
    ("wanted", "trials"),
    [
        (EVERY, ["ledger.haiku.1", "ledger.opus.1", "spans.haiku.1"]),
        (TrialFilter(tasks=("ledger",)), ["ledger.haiku.1", "ledger.opus.1"]),
        (TrialFilter(tasks=("bench/ledger",)), ["ledger.opus.1"]),
        (TrialFilter(tasks=("led*", "sp?ns")), ["ledger.haiku.1", "ledger.opus.1", "spans.haiku.1"]),
        (TrialFilter(models=("maker/h*",)), ["ledger.haiku.1", "spans.haiku.1"]),
        (TrialFilter(models=("haiku",), tasks=("spans",)), ["spans.haiku.1"]),
        (TrialFilter(benchmarks=("other",)), ["ledger.haiku.1"]),
        (TrialFilter(since="2000-01-01T00:00:00.000Z"), ["ledger.haiku.1", "ledger.opus.1", "spans.haiku.1"]),
        (TrialFilter(since="2999-01-01T00:00:00.000Z"), []),
        (TrialFilter(tasks=("nothing",)), []),
    ],
)
def test_a_trial_meets_all_conditions(runs: Path, wanted: TrialFilter, trials: list[str]) -> None:
    assert names(wanted, runs) == trials


def test_the_limit_counts_trials_that_match(runs: Path) -> None:
    (name,) = names(TrialFilter(models=("haiku",), limit=1), runs)
    assert name.endswith(".haiku.1")


@pytest.mark.parametrize(
    ("wanted", "message"),
    [
        (
            TrialFilter(tasks=("jq",)),
            "no trial matches --task 'jq'; there are the tasks bench/ledger (1 trial), bench/spans (1 trial), "
            "other/ledger (1 trial)",
        ),
        (
            TrialFilter(tasks=("spans",), models=("opus",)),
            "no trial matches --task 'spans', --model 'opus'; with the other conditions there are the tasks "
            "bench/ledger (1 trial)",
        ),
        (TrialFilter(labels=("final",)), "no trial matches --label 'final'; no trial has a label"),
    ],
)
def test_a_selection_that_matches_nothing_tells_what_there_is(runs: Path, wanted: TrialFilter, message: str) -> None:
    selection = Selection(wanted)
    assert list(selection.of(map(listed, sorted(trial_directories(runs))))) == []
    assert selection.nothing() == message


def test_the_newest_start_is_told_if_all_trials_are_too_old(runs: Path) -> None:
    selection = Selection(TrialFilter(since="2999-01-01T00:00:00.000Z"))
    assert list(selection.of(map(listed, trial_directories(runs)))) == []
    newest = max(summary.started for path in trial_directories(runs) if (summary := listed(path).summary))
    assert selection.nothing().endswith(f"the newest one otherwise began at {newest}")


def test_an_unreadable_trial_meets_no_condition_and_is_not_forgotten(tmp_path: Path) -> None:
    record(tmp_path / "b", "ledger")
    broken = tmp_path / "b" / "broken"
    broken.mkdir()
    (broken / "events.jsonl").write_text("nonsense\n")
    every = Selection(EVERY)
    assert len(list(every.of(map(listed, trial_directories(tmp_path))))) == 2
    some = Selection(TrialFilter(tasks=("ledger",), limit=5))
    assert [trial.directory.name for trial in some.of(map(listed, trial_directories(tmp_path)))] == ["ledger.m.1"]
    assert [trial.directory for trial in some.unreadable] == [broken]


def test_a_name_with_the_characters_of_a_pattern_is_also_a_name() -> None:
    assert fits("a[1]", "x/a[1]")
    assert fits("a[1]", "a1")
    assert not fits("a[1]", "a2")
    assert not fits("LEDGER", "demo/ledger")


@pytest.mark.parametrize(
    ("pattern", "trials"),
    [
        ("fir*", ["ledger.opus.1", "spans.haiku.1"]),
        ("*.haiku.*", ["spans.haiku.1", "ledger.haiku.1"]),
        ("second/led*", ["ledger.haiku.1"]),
        ("*/*", ["ledger.opus.1", "spans.haiku.1", "ledger.haiku.1"]),
    ],
)
def test_a_pattern_names_trials_and_batches(runs: Path, pattern: str, trials: list[str]) -> None:
    directories, together = directories_named([pattern], runs)
    assert [path.name for path in directories] == trials
    assert together == set(directories)


def test_a_pattern_may_have_the_directory_in_front(runs: Path) -> None:
    assert directories_named([f"{runs}/fir*"], runs)[0] == directories_named(["fir*"], runs)[0]


def test_a_pattern_that_matches_nothing_tells_which_batches_there_are(runs: Path) -> None:
    with pytest.raises(RecordError, match=r"'third\*' matches no trial and no batch .*: first \(2\), second \(1\)"):
        directories_named(["third*"], runs)


def test_no_name_and_a_directory_of_batches_stand_for_all_trials(runs: Path, tmp_path: Path) -> None:
    assert len(directories_named([], runs)[0]) == len(directories_named([str(runs)], tmp_path)[0]) == 3
    with pytest.raises(RecordError, match="no trials under"):
        directories_named([], tmp_path)


def test_a_selection_reads_no_events_that_a_summary_answers(runs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(directory: Path) -> None:
        raise AssertionError(f"the events of {directory} were read")

    monkeypatch.setattr(finding, "read_events", refuse)
    assert names(TrialFilter(tasks=("ledger",), since="2000", models=("*",)), runs) == [
        "ledger.haiku.1",
        "ledger.opus.1",
    ]
