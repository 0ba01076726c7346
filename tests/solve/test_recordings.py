"""The recordings in the repository, solved again with `--model replay:`, have the same verdict, case by case."""

from __future__ import annotations

import json
import signal
import subprocess
import time
from pathlib import Path

import pytest
import zstandard

from agent.loop.actions import SUBMIT
from tests.solve.command import AGENT, agent, environment, script
from trajectories.reading.reader import read_events
from trajectories.record.events import ActionFinished, EnvStarted

RECORDINGS = Path(__file__).parents[2] / "docs" / "recordings"


def verdict_of(trial: Path) -> dict[str, str]:
    return {case["id"]: case["status"] for case in json.loads((trial / "verdict.json").read_text())["cases"]}


@pytest.mark.parametrize(
    "env",
    [
        pytest.param("docker", marks=pytest.mark.docker),
        pytest.param("sandbox", marks=pytest.mark.sandbox),
        "local",
    ],
)
def test_the_ledger_recording_passes_again_in_every_environment(tmp_path: Path, env: str) -> None:
    recording = RECORDINGS / "ledger"
    result = agent(tmp_path, "solve", "--task", "demo/ledger", "--env", env, "--model", f"replay:{recording}", "--json")
    assert result.status == 0, result.err
    assert result.json["verdict"]["passed"]
    assert verdict_of(result.trial) == verdict_of(recording)


@pytest.mark.docker
@pytest.mark.slow
@pytest.mark.timeout(900)
def test_the_rebuild_of_a_real_program_replays_to_the_same_verdict(tmp_path: Path) -> None:
    recording = RECORDINGS / "figlet"
    result = agent(tmp_path, "solve", "--task", "demo/figlet", "--model", f"replay:{recording}", "--json", timeout=880)
    assert result.status == 0, result.err
    assert result.json["verdict"]["quality"] == json.loads((recording / "verdict.json").read_text())["quality"] > 0.8
    assert verdict_of(result.trial) == verdict_of(recording)
    recorded = [event for event in read_events(recording) if isinstance(event, ActionFinished)]
    repeated = [event for event in result.events if isinstance(event, ActionFinished)]
    assert [event.exit_code for event in repeated] == [event.exit_code for event in recorded]


@pytest.mark.docker
def test_a_finished_or_interrupted_trial_leaves_no_container(tmp_path: Path) -> None:
    model = script(tmp_path, "nohup sleep 1000 >/dev/null 2>&1 &", "sleep 1000", SUBMIT)
    process = subprocess.Popen(
        [*AGENT, "solve", "--task", "demo/ledger", "--env", "docker", "--json", "--model", model],
        cwd=tmp_path,
        env=environment(tmp_path),
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    container = _container_of(tmp_path / "runs", '"action":"2.1"')
    assert _exists(container)
    process.send_signal(signal.SIGINT)
    out, _ = process.communicate(timeout=120)
    assert process.returncode == 130
    assert json.loads(out)["exit"]["cause"] == "interrupted"
    assert json.loads(out)["verdict"] is None
    assert not _exists(container)


@pytest.mark.docker
def test_a_killed_harness_leaves_no_container_and_a_readable_record(tmp_path: Path) -> None:
    process = subprocess.Popen(
        [
            *(*AGENT, "solve", "--task", "demo/ledger", "--env", "docker", "--json"),
            *("--model", script(tmp_path, "echo one", "sleep 1000", SUBMIT)),
        ],
        cwd=tmp_path,
        env=environment(tmp_path),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    container = _container_of(tmp_path / "runs", '"action":"2.1"')
    process.kill()
    process.wait()
    until = time.monotonic() + 60
    while _exists(container) and time.monotonic() < until:
        time.sleep(0.1)
    assert not _exists(container)
    listing = agent(tmp_path, "trials", "--json").json
    assert listing["trials"][0]["steps"] == 2
    assert listing["trials"][0]["exit"] is None


def _begin(folder: Path, *turns: str) -> subprocess.Popen[str]:
    """Start a trial of these turns in Docker."""
    return subprocess.Popen(
        [*AGENT, "solve", "--task", "demo/ledger", "--env", "docker", "--json", "--model", script(folder, *turns)],
        cwd=folder,
        env=environment(folder),
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )


@pytest.mark.docker
def test_a_container_removed_under_a_trial_ends_it_as_infrastructure(tmp_path: Path) -> None:
    process = _begin(tmp_path, "sleep 1000", SUBMIT)
    container = _container_of(tmp_path / "runs", '"action":"1.1"')
    subprocess.run(["docker", "rm", "-f", container], check=True, capture_output=True)
    out, _ = process.communicate(timeout=120)
    assert process.returncode == 1
    summary = json.loads(out)
    assert (summary["exit"]["reason"], summary["exit"]["cause"]) == ("infrastructure", "environment_lost")
    assert summary["verdict"] is None


@pytest.mark.docker
def test_the_workspace_of_a_paused_container_is_exported(tmp_path: Path) -> None:
    process = _begin(tmp_path, "echo work >made", "sleep 1000", SUBMIT)
    container = _container_of(tmp_path / "runs", '"action":"2.1"')
    subprocess.run(["docker", "pause", container], check=True, capture_output=True)
    out, _ = process.communicate(timeout=120)
    summary = json.loads(out)
    assert (summary["exit"]["reason"], summary["exit"]["cause"]) == ("infrastructure", "environment_lost")
    assert summary["verdict"] is None
    (exported,) = [event for event in read_events(tmp_path / summary["trial"]) if event.type == "workspace_exported"]
    with zstandard.open(tmp_path / summary["trial"] / exported.path) as data:
        assert b"./made" in data.read()
    assert not _exists(container)


def _container_of(runs: Path, text: str, seconds: float = 60) -> str:
    """Wait until the record of the only trial under `runs` contains a text; return the container of the trial."""
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        for path in runs.glob("*/*/events.jsonl"):
            if text in path.read_text():
                started = next(event for event in read_events(path) if isinstance(event, EnvStarted))
                assert started.container is not None
                return started.container
        time.sleep(0.05)
    raise AssertionError(f"no record contains {text}")


def _exists(container: str) -> bool:
    result = subprocess.run(["docker", "inspect", container], capture_output=True, check=False)
    return result.returncode == 0
