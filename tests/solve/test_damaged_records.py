"""Errors about records that are empty, damaged or incomplete: one line each, and nothing is started."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from agent.loop.actions import SUBMIT
from tests.solve.command import agent, script
from trajectories.writing.lock import TrialLock

ADHOC = ("--instruction", "x", "--workspace", "start", "--env", "local", "--json")


@pytest.fixture
def trial(tmp_path: Path) -> Path:
    """A finished trial of three steps."""
    (tmp_path / "start").mkdir()
    result = agent(tmp_path, "solve", *ADHOC, "--model", script(tmp_path, "echo 1 >a", "echo 2 >b", SUBMIT))
    return result.trial


def refused(folder: Path, *argv: str) -> str:
    """Run a command that must end with a usage error; return the single line that it prints."""
    result = agent(folder, *argv)
    assert (result.status, result.out) == (2, ""), (result.out, result.err)
    (line,) = result.err.splitlines()
    return line


COMMANDS = (["show"], ["show", "--step", "1"], ["replay"], ["doctor"], ["analyze"], ["resume"], ["fork", "--at", "1"])


@pytest.mark.parametrize("argv", COMMANDS, ids=lambda argv: " ".join(argv))
def test_an_empty_record_is_reported_as_empty(tmp_path: Path, argv: list[str]) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "empty" / "events.jsonl").touch()
    assert refused(tmp_path, *argv, "empty") == "agent: empty: the record is empty"


def test_a_trial_with_missing_contents_is_neither_forked_nor_resumed(tmp_path: Path, trial: Path) -> None:
    before = sorted((tmp_path / "runs" / "single").iterdir())
    shutil.rmtree(trial / "blobs")
    expected = "the content of 'a' after step 1 is missing"
    assert expected in refused(tmp_path, "fork", str(trial), "--at", "1")
    events = trial / "events.jsonl"
    lines = events.read_text().splitlines(keepends=True)
    unfinished = "".join(line for line in lines if '"type":"snapshot","step":0' in line or '"step":2' not in line)
    events.write_text(unfinished[: unfinished.index('{"seq"', unfinished.index('"type":"snapshot","step":1'))])
    assert expected in refused(tmp_path, "resume", str(trial))
    assert sorted((tmp_path / "runs" / "single").iterdir()) == before


def test_the_error_for_a_missing_step_names_the_last_step(tmp_path: Path, trial: Path) -> None:
    expected = f"agent: {trial}: there is no step 9; the last is 3"
    assert refused(tmp_path, "show", str(trial), "--step", "9") == expected
    assert refused(tmp_path, "checkout", str(trial), "to", "--step", "9") == expected


def test_the_error_of_a_replay_names_the_cause_and_no_option_that_was_not_typed(tmp_path: Path, trial: Path) -> None:
    first, *rest = (trial / "events.jsonl").read_text().splitlines(keepends=True)
    (trial / "events.jsonl").write_text(first)
    assert "its model never answered" in refused(tmp_path, "replay", str(trial))
    (trial / "events.jsonl").write_text(first + "{\n" + "".join(rest))
    assert refused(tmp_path, "replay", str(trial)).startswith(f"agent: {trial}/events.jsonl:2: not a valid event")


@pytest.mark.parametrize("hint", ["", " ", "file"])
def test_an_empty_hint_is_rejected(tmp_path: Path, trial: Path, hint: str) -> None:
    (tmp_path / "file").touch()
    assert "the hint is empty" in refused(tmp_path, "fork", str(trial), "--at", "1", "--inject", hint)


def test_a_narrow_list_of_trials_shows_complete_ids(tmp_path: Path, trial: Path) -> None:
    broken = trial.parent / "broken"
    broken.mkdir()
    (broken / "events.jsonl").write_text("{}\n")
    for width in (60, 80, 120, 200):
        result = agent(tmp_path, "trials", COLUMNS=str(width))
        assert trial.name in result.out
        assert max(map(len, result.out.splitlines())) <= width
        assert len(result.err.splitlines()) == 1
        assert "unreadable: runs/single/broken: " in result.err
    assert "nowhere: no such directory" in refused(tmp_path, "trials", "--runs", "nowhere")


def test_an_export_to_a_dash_goes_to_standard_output(tmp_path: Path, trial: Path) -> None:
    result = agent(tmp_path, "export", str(trial), "--format", "openai", "-o", "-")
    assert result.out.startswith('{"messages"')
    assert not (tmp_path / "-").exists()


def test_an_empty_plan_is_rejected(tmp_path: Path, trial: Path) -> None:
    (tmp_path / "plan").write_text("\n")
    model = script(tmp_path, SUBMIT)
    assert "--plan plan: the file is empty" in refused(tmp_path, "solve", *ADHOC, "--model", model, "--plan", "plan")


def test_the_process_that_holds_a_trial_is_named(tmp_path: Path, trial: Path) -> None:
    with TrialLock(trial):
        assert f"process {os.getpid()} is at work on this trial" in refused(tmp_path, "resume", str(trial))


@pytest.mark.parametrize("text", ["nowhere/hint.md", "hint.txt", "start"])
def test_a_path_without_a_file_is_not_accepted_as_a_hint(tmp_path: Path, trial: Path, text: str) -> None:
    expected = f"agent: --inject '{text}': no such file (a literal text needs more than one word)"
    assert refused(tmp_path, "fork", str(trial), "--at", "1", "--inject", text) == expected


def test_a_command_accepts_the_events_file_in_place_of_the_trial(tmp_path: Path, trial: Path) -> None:
    assert agent(tmp_path, "show", str(trial / "events.jsonl"), "--check").status == 0
