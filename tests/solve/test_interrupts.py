"""Signals and lost terminals at inconvenient moments: the record is closed and the JSON printed; nothing runs on."""

from __future__ import annotations

import json
import signal
import subprocess
import time
from pathlib import Path

import pytest

from agent.loop.actions import SUBMIT
from tests.solve.command import AGENT, environment, script
from trajectories.reading.reader import read_events

ADHOC = ("solve", "--instruction", "x", "--workspace", "start", "--env", "local", "--json")


@pytest.fixture
def work(tmp_path: Path) -> Path:
    (tmp_path / "start").mkdir()
    return tmp_path


def begin(work: Path, *argv: str, stderr: int = subprocess.DEVNULL) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [*AGENT, *argv], cwd=work, env=environment(work), stdout=subprocess.PIPE, stderr=stderr, text=True
    )


def wait_for(runs: Path, text: str, seconds: float = 60) -> Path:
    """Return the events file under `runs` once it contains a text."""
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        for path in runs.glob("*/*/events.jsonl"):
            if text in path.read_text():
                return path
        time.sleep(0.005)
    raise AssertionError(f"no record contains {text}")


@pytest.mark.parametrize("gap_s", [0.0, 0.01, 0.05, 0.1])
def test_two_interrupts_in_a_row_lose_neither_the_record_nor_the_json(work: Path, gap_s: float) -> None:
    process = begin(work, *ADHOC, "--model", script(work, "echo one", "sleep 100", SUBMIT))
    events = wait_for(work / "runs", '"action":"2.1"')
    process.send_signal(signal.SIGINT)
    time.sleep(gap_s)
    process.send_signal(signal.SIGINT)
    out, _ = process.communicate(timeout=120)
    assert process.returncode in (130, -signal.SIGINT)
    summary = json.loads(out)
    assert summary["exit"]["cause"] == "interrupted"
    recorded = list(read_events(events.parent))
    assert sum(event.type == "exit" for event in recorded) == 1
    assert [event.seq for event in recorded] == list(range(len(recorded)))
    cut = next(event for event in recorded if event.type == "action_finished" and event.action == "2.1")
    assert cut.ended == "interrupted"
    assert (events.parent / "trial.json").exists()


def test_an_interrupt_at_the_start_closes_the_record(work: Path) -> None:
    process = begin(work, *ADHOC, "--model", script(work, "sleep 100", SUBMIT))
    events = wait_for(work / "runs", "trial_started")
    process.send_signal(signal.SIGINT)
    out, _ = process.communicate(timeout=120)
    assert process.returncode == 130
    assert json.loads(out)["exit"]["cause"] == "interrupted"
    assert any(event.type == "exit" for event in read_events(events.parent))


def test_an_interrupt_in_the_export_ends_the_command_without_another_attempt(work: Path) -> None:
    fill = "head -c 300000000 /dev/urandom >big"
    process = begin(work, *ADHOC, "--attempts", "3", "--model", script(work, fill, SUBMIT))
    events = wait_for(work / "runs", '"type":"exit"')
    process.send_signal(signal.SIGINT)
    out, _ = process.communicate(timeout=120)
    assert process.returncode == 130
    trials = json.loads(out)["trials"]
    assert len(trials) == 1
    assert trials[0]["exit"]["cause"] == "submitted"
    warning = next(event for event in read_events(events.parent) if event.type == "warning")
    assert "interrupted by the user" in warning.text
    assert not list(events.parent.glob("*workspace*"))


def test_finished_attempts_are_reported_when_a_later_one_is_interrupted(work: Path) -> None:
    turns = script(work, "sleep 1", SUBMIT)
    process = begin(work, *ADHOC, "--attempts", "50", "--model", turns)
    until = time.monotonic() + 30
    while len(list((work / "runs").glob("*/*/trial.json"))) < 2 and time.monotonic() < until:
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    out, _ = process.communicate(timeout=120)
    assert process.returncode == 130
    causes = [trial["exit"]["cause"] for trial in json.loads(out)["trials"]]
    assert causes[:2] == ["submitted", "submitted"]
    assert len(causes) < 10


def test_a_trial_is_not_affected_by_progress_output_that_cannot_be_written(work: Path) -> None:
    with Path("/dev/full").open("w") as full:
        process = begin(work, *ADHOC, "--model", script(work, "echo one", SUBMIT), stderr=full.fileno())
        out, _ = process.communicate(timeout=120)
    assert process.returncode == 0
    assert json.loads(out)["exit"]["cause"] == "submitted"


def test_a_hangup_under_nohup_is_ignored(work: Path) -> None:
    argv = ["nohup", *AGENT, *ADHOC, "--model", script(work, "sleep 1", SUBMIT)]
    process = subprocess.Popen(
        argv, cwd=work, env=environment(work), stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    )
    wait_for(work / "runs", '"action_started"')
    process.send_signal(signal.SIGHUP)
    out, _ = process.communicate(timeout=120)
    assert process.returncode == 0
    assert json.loads(out)["exit"]["cause"] == "submitted"
