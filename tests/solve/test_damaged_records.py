"""What commands say of records that are empty, damaged or incomplete: one line, and nothing is begun."""

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
    (tmp_path / "start").mkdir()
    done = agent(tmp_path, "solve", *ADHOC, "--model", script(tmp_path, "echo 1 >a", "echo 2 >b", SUBMIT))
    return done.trial


def refused(folder: Path, *argv: str) -> str:
    done = agent(folder, *argv)
    assert (done.status, done.out) == (2, ""), (done.out, done.err)
    (line,) = done.err.splitlines()
    return line


COMMANDS = (["show"], ["show", "--step", "1"], ["replay"], ["doctor"], ["analyze"], ["resume"], ["fork", "--at", "1"])


@pytest.mark.parametrize("argv", COMMANDS, ids=lambda argv: " ".join(argv))
def test_an_empty_record_is_said_to_be_empty(tmp_path: Path, argv: list[str]) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "empty" / "events.jsonl").touch()
    assert refused(tmp_path, *argv, "empty") == "agent: empty: the record is empty"


def test_nothing_goes_on_from_contents_that_are_gone(tmp_path: Path, trial: Path) -> None:
    before = sorted((tmp_path / "runs" / "single").iterdir())
    shutil.rmtree(trial / "blobs")
    said = "the content of 'a' after step 1 is gone"
    assert said in refused(tmp_path, "fork", str(trial), "--at", "1")
    events = trial / "events.jsonl"
    lines = events.read_text().splitlines(keepends=True)
    unfinished = "".join(line for line in lines if '"type":"snapshot","step":0' in line or '"step":2' not in line)
    events.write_text(unfinished[: unfinished.index('{"seq"', unfinished.index('"type":"snapshot","step":1'))])
    assert said in refused(tmp_path, "resume", str(trial))
    assert sorted((tmp_path / "runs" / "single").iterdir()) == before


def test_a_step_that_is_not_there_is_named_with_the_last(tmp_path: Path, trial: Path) -> None:
    said = f"agent: {trial}: there is no step 9; the last is 3"
    assert refused(tmp_path, "show", str(trial), "--step", "9") == said
    assert refused(tmp_path, "checkout", str(trial), "to", "--step", "9") == said


def test_a_replay_names_what_is_wrong_and_no_option_that_nobody_gave(tmp_path: Path, trial: Path) -> None:
    first, *rest = (trial / "events.jsonl").read_text().splitlines(keepends=True)
    (trial / "events.jsonl").write_text(first)
    assert "its model never answered" in refused(tmp_path, "replay", str(trial))
    (trial / "events.jsonl").write_text(first + "{\n" + "".join(rest))
    assert refused(tmp_path, "replay", str(trial)).startswith(f"agent: {trial}/events.jsonl:2: not a valid event")


@pytest.mark.parametrize("hint", ["", " ", "file"])
def test_a_hint_says_something(tmp_path: Path, trial: Path, hint: str) -> None:
    (tmp_path / "file").touch()
    assert "there is nothing in it" in refused(tmp_path, "fork", str(trial), "--at", "1", "--inject", hint)


def test_a_narrow_list_of_trials_keeps_the_ids_whole(tmp_path: Path, trial: Path) -> None:
    broken = trial.parent / "broken"
    broken.mkdir()
    (broken / "events.jsonl").write_text("{}\n")
    for width in (60, 80, 120, 200):
        done = agent(tmp_path, "trials", COLUMNS=str(width))
        assert trial.name in done.out
        assert max(map(len, done.out.splitlines())) <= width
        assert len(done.err.splitlines()) == 1
        assert "unreadable: runs/single/broken: " in done.err
    assert "nowhere: no such directory" in refused(tmp_path, "trials", "--runs", "nowhere")


def test_a_dash_is_standard_output(tmp_path: Path, trial: Path) -> None:
    done = agent(tmp_path, "export", str(trial), "--format", "openai", "-o", "-")
    assert done.out.startswith('{"messages"')
    assert not (tmp_path / "-").exists()


def test_a_plan_says_something(tmp_path: Path, trial: Path) -> None:
    (tmp_path / "plan").write_text("\n")
    model = script(tmp_path, SUBMIT)
    assert "--plan plan: there is nothing in it" in refused(
        tmp_path, "solve", *ADHOC, "--model", model, "--plan", "plan"
    )


def test_the_process_that_holds_a_trial_is_named(tmp_path: Path, trial: Path) -> None:
    with TrialLock(trial):
        assert f"process {os.getpid()} is at work on this trial" in refused(tmp_path, "resume", str(trial))


@pytest.mark.parametrize("text", ["nowhere/hint.md", "hint.txt", "start"])
def test_a_path_without_a_file_is_no_hint(tmp_path: Path, trial: Path, text: str) -> None:
    said = f"agent: --inject '{text}': no such file; a text is more than a path"
    assert refused(tmp_path, "fork", str(trial), "--at", "1", "--inject", text) == said


def test_the_file_of_a_record_means_its_trial(tmp_path: Path, trial: Path) -> None:
    assert agent(tmp_path, "show", str(trial / "events.jsonl"), "--check").status == 0
