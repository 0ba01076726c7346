"""A task whose result is the whole system: judged live, evaluated again from the commit, and continued in it."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from agent.loop.actions import SUBMIT
from agent.trial.options import Options
from tests.solve.command import CommandResult, environment, script
from tests.system.benchmark import INSTALL, SERVE
from trajectories.reading.reader import read_events
from trajectories.record.events import Checkpoint, EnvStarted, EvaluationStarted, Message, Warned

pytestmark = pytest.mark.docker
AGENT = (sys.executable, "-m", "tests.system.benchmark")


def agent(folder: Path, *argv: str, **extra: str) -> CommandResult:
    result = subprocess.run(
        [*AGENT, *argv],
        cwd=folder,
        env=environment(folder, **extra),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=120,
    )
    return CommandResult(folder, result.returncode, result.stdout, result.stderr)


def solve(folder: Path, *commands: str, options: tuple[str, ...] = (), **extra: str) -> CommandResult:
    model = script(folder, *commands, SUBMIT)
    return agent(folder, "solve", "--task", "system/server", "--model", model, "--json", *options, **extra)


def events_of(folder: Path) -> list[Any]:
    (trial,) = (path.parent for path in folder.glob("runs/*/*/events.jsonl"))
    return list(read_events(trial))


def commits(folder: Path) -> list[str]:
    return [
        event.image
        for path in folder.glob("runs/*/*/events.jsonl")
        for event in read_events(path.parent)
        if isinstance(event, Checkpoint)
    ]


@pytest.fixture
def work(tmp_path: Path) -> Iterator[Path]:
    """A folder for trials; their containers are gone at the end, and their images are removed."""
    yield tmp_path
    if images := commits(tmp_path):
        subprocess.run(["docker", "rmi", "-f", *images], check=False, capture_output=True)


def facts(verdict: dict[str, Any]) -> tuple[Any, ...]:
    return tuple(verdict.get(key) for key in ("quality", "result", "submission", "processes_kept", "comparable"))


def test_the_system_is_judged_live_and_again_from_its_commit(work: Path) -> None:
    first = solve(work, INSTALL, SERVE)
    assert first.status == 0, first.err
    assert facts(first.json["verdict"]) == (1.0, "system", "live", True, None)
    types = [event.type for event in first.events]
    end = types[types.index("exit") :]
    assert end == ["exit", "workspace_exported", "checkpoint", "evaluation_started", "evaluation"]
    assert agent(work, "show", str(first.trial), "--check").status == 0
    again = agent(work, "evaluate", str(first.trial), "--json")
    # the commit has the file, never the tests, and no process
    assert facts(again.json["verdict"]) == (pytest.approx(2 / 3), "system", "image", False, False)
    (work / "mended").mkdir()
    given = ("--overlay", "mended", "--test-timeout-multiplier", "2")
    changed = agent(work, "evaluate", str(first.trial), *given, "--json").json["verdict"]["settings"]
    assert (sorted(changed), changed["test_timeout_multiplier"]) == (["overlay", "test_timeout_multiplier"], "2")
    (image,) = commits(work)
    assert again.json["image"] == image
    begun = [event for event in first.events if isinstance(event, EvaluationStarted)]
    assert [event.submission.kind for event in begun] == ["live", "image", "image"]
    assert {event.submission.image for event in begun} == {image}
    assert [event.settings for event in begun] == [{}, {}, changed]
    refused = agent(work, "evaluate", str(first.trial), "--base-image", "a=b")
    assert (refused.status, len(refused.err.splitlines())) == (2, 1)
    assert f"--base-image does not apply to {first.trial.name}" in refused.err
    child = agent(work, "fork", str(first.trial), "--at", "3", "--model", script(work, SUBMIT), "--json")
    assert facts(child.json["verdict"])[:3] == (pytest.approx(2 / 3), "system", "live")
    subprocess.run(["docker", "rmi", "-f", image], check=True, capture_output=True)
    gone = agent(work, "evaluate", str(first.trial))
    assert (gone.status, len(gone.err.splitlines())) == (2, 1)
    assert f"the image {image} that its container was committed as is gone" in gone.err
    refused = agent(work, "fork", str(first.trial), "--at", "3", "--model", script(work, SUBMIT))
    assert (refused.status, len(refused.err.splitlines())) == (2, 1)
    assert f"its image {image} of step 3 is gone" in refused.err


def test_an_isolated_verifier_judges_the_commit_without_processes(work: Path) -> None:
    result = solve(work, INSTALL, SERVE, options=("--isolated-verifier",))
    assert facts(result.json["verdict"]) == (pytest.approx(2 / 3), "system", "image", False, False)
    assert result.events[0].options["isolated_verifier"] is True


@pytest.mark.parametrize(
    ("method", "status", "reason"),
    [
        ("pause", 1, "the container was not committed"),
        ("checkpoint", 1, "the container was not committed"),
        ("unpause", 0, "its commit is judged, without any process"),
    ],
)
def test_a_container_that_ends_in_between_has_a_defined_outcome(
    work: Path, method: str, status: int, reason: str
) -> None:
    result = solve(work, INSTALL, SERVE, SYSTEM_ENDS=method)
    assert result.status == status, result.err
    assert any(reason in event.text for event in result.events if isinstance(event, Warned))
    assert result.json["exit"]["reason"] == "agent"
    verdict = result.json["verdict"]
    if status:
        assert verdict is None
        again = agent(work, "evaluate", str(result.trial))
        assert (again.status, len(again.err.splitlines())) == (2, 1)
        assert "its container was not committed when it ended" in again.err
    else:
        assert facts(verdict) == (pytest.approx(2 / 3), "system", "image", False, False)


def containers_of(trial: Path) -> str:
    filters = [f"--filter=id={event.container}" for event in read_events(trial) if isinstance(event, EnvStarted)]
    return subprocess.run(["docker", "ps", "-aq", *filters], check=True, capture_output=True, text=True).stdout


@pytest.mark.parametrize(
    ("sent", "status", "submission"),
    [
        ("SIGINT checkpoint", 130, "image"),
        pytest.param("SIGKILL checkpoint", -9, None, marks=pytest.mark.slow),
        pytest.param("SIGKILL pause", -9, None, marks=pytest.mark.slow),
        pytest.param("SIGKILL export", -9, None, marks=pytest.mark.slow),
        pytest.param("SIGKILL unpause", -9, "image", marks=pytest.mark.slow),
        pytest.param("SIGKILL judged", -9, "image", marks=pytest.mark.slow),
        pytest.param("SIGKILL stop", -9, "live", marks=pytest.mark.slow),
        pytest.param("SIGINT pause", 130, "image", marks=pytest.mark.slow),
        pytest.param("SIGINT export", 130, "image", marks=pytest.mark.slow),
        pytest.param("SIGINT unpause", 130, "image", marks=pytest.mark.slow),
        pytest.param("SIGINT judged", 130, "image", marks=pytest.mark.slow),
        pytest.param("SIGINT stop", 130, "live", marks=pytest.mark.slow),
    ],
)
def test_a_signal_at_the_end_leaves_nothing_running_and_a_trial_that_can_be_judged(
    work: Path, sent: str, status: int, submission: str | None
) -> None:
    result = solve(work, INSTALL, SERVE, SYSTEM_SIGNAL=sent)
    assert result.status == status, result.err
    (trial,) = (path.parent for path in work.glob("runs/*/*/events.jsonl"))
    if status == 130:
        assert containers_of(trial) == ""
    resumed = agent(work, "resume", str(trial), "--json")
    assert containers_of(trial) == ""
    if submission is None:  # the result died with the harness, before it was kept
        assert (resumed.status, len(resumed.err.splitlines())) == (2, 1)
        assert "its container was not committed when it ended" in resumed.err
        assert "begin again with agent solve" in resumed.err
    else:
        quality = 1.0 if submission == "live" else pytest.approx(2 / 3)
        assert facts(resumed.json["verdict"])[:3] == (quality, "system", submission)


def test_the_next_turn_begins_in_the_commit_and_is_told_what_ended(work: Path) -> None:
    ls = "cat /etc/solved; ls -d /tests"
    options = ("--self-correct", "2")
    result = agent(
        work,
        "solve",
        "--task",
        "system/server",
        "--model",
        script(work, f"{INSTALL}; {SERVE}; {ls}", SUBMIT),
        "--json",
        *options,
    )
    assert result.status == 0, result.err
    first, second = (list(read_events(work / trial["trial"])) for trial in result.json["trials"])
    assert [facts(trial["verdict"])[2] for trial in result.json["trials"]] == ["live", "live"]
    seen = next(event.content for event in second if isinstance(event, Message) and event.action == "1.1")
    assert "yes" in seen
    assert "No such file" in seen  # the tests of the turn before are not in the commit
    lost = "background processes of 1.1: 1"
    assert lost in [event.text for event in second if isinstance(event, Warned)]
    assert any(lost in event.content for event in second if isinstance(event, Message) and event.why == "feedback")
    started = next(event for event in second if event.type == "env_started")
    assert (started.continues, started.image) == (None, next(e.image for e in first if isinstance(e, Checkpoint)))


def killed(folder: Path, model: str, *options: str) -> Path:
    """Kill a trial while its second command runs; return the trial."""
    folder.mkdir()
    argv = [*AGENT, "solve", "--task", "system/server", "--model", model, *options]
    process = subprocess.Popen(argv, cwd=folder, env=environment(folder), stderr=subprocess.DEVNULL)
    until = time.monotonic() + 60
    while not any('"action":"2.1"' in path.read_text() for path in folder.glob("runs/*/*/events.jsonl")):
        assert time.monotonic() < until
        time.sleep(0.01)
    process.kill()
    process.wait()
    (trial,) = (path.parent for path in folder.glob("runs/*/*/events.jsonl"))
    return trial


def test_a_killed_trial_is_continued_in_its_commit_or_not_at_all(work: Path) -> None:
    model = script(work, INSTALL, "sleep 1", "cat /etc/solved", SUBMIT)
    trial = killed(work / "without", model)
    refused = agent(work, "resume", str(trial))
    assert (refused.status, len(refused.err.splitlines())) == (2, 1)
    assert "it was not committed, so nothing can continue in it" in refused.err
    resumed = agent(work, "resume", str(killed(work / "with", model, "--checkpoint-every", "1")), "--json")
    try:
        assert facts(resumed.json["verdict"])[:3] == (pytest.approx(2 / 3), "system", "live")
        seen = [event.content for event in resumed.events if isinstance(event, Message) and event.action == "3.1"]
        assert "yes" in seen[0]
    finally:
        subprocess.run(["docker", "rmi", "-f", *commits(work / "with")], check=False, capture_output=True)


def test_an_evaluation_that_was_cut_off_is_made_from_the_commit(work: Path) -> None:
    trial = solve(work, INSTALL, SERVE).trial
    lines = (trial / "events.jsonl").read_bytes().splitlines(keepends=True)
    assert b'"type":"evaluation"' in lines[-1]
    (trial / "events.jsonl").write_bytes(b"".join(lines[:-1]))  # as after kill -9 during the tests
    resumed = agent(work, "resume", str(trial), "--json")
    assert resumed.status == 0, resumed.err
    assert facts(resumed.json["verdict"]) == (pytest.approx(2 / 3), "system", "image", False, False)
    shown = agent(work, "show", str(trial))
    assert "judged: the committed system, without any of its processes" in shown.out
    assert "comparable with published scores: no" in shown.out


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        (("--task", "demo/ledger", "--overlay", "."), "--overlay does not apply to ledger"),
        (("--task", "demo/ledger", "--isolated-verifier"), "--isolated-verifier does not apply to ledger"),
        (("--instruction", "do it", "--workspace", ".", "--base-image", "a=b"), "--base-image does not apply to"),
        (("--task", "system/server", "--overlay", "absent"), "--overlay absent: no such directory"),
        (("--task", "system/server", "--base-image", "python"), "--base-image 'python': write NAME=IMAGE"),
        (("--task", "system/server", "--test-timeout-multiplier", "0"), "--test-timeout-multiplier 0: give a number"),
        (("--task", "system/server", "--env", "sandbox"), "sandbox"),
    ],
)
def test_an_unusable_option_is_refused_by_name(tmp_path: Path, options: tuple[str, ...], reason: str) -> None:
    refused = agent(tmp_path, "solve", *options, "--model", "nop", "--dry-run")
    assert (refused.status, len(refused.err.splitlines())) == (2, 1), refused.err
    assert reason in refused.err


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        (("--overlay", "."), "--overlay does not apply to ledger"),
        (("--base-image", "a=b"), "--base-image does not apply to ledger"),
        (("--test-timeout-multiplier", "2"), "--test-timeout-multiplier does not apply to ledger"),
        (("--overlay", "absent"), "--overlay absent: no such directory"),
    ],
)
def test_a_setting_without_a_meaning_is_refused_by_an_evaluation(
    tmp_path: Path, options: tuple[str, ...], reason: str
) -> None:
    refused = agent(tmp_path, "evaluate", ".", "--task", "demo/ledger", *options)
    assert (refused.status, len(refused.err.splitlines())) == (2, 1), refused.err
    assert reason in refused.err


def test_the_settings_of_a_task_are_recorded_for_resume_and_evaluate(tmp_path: Path) -> None:
    given = Options(model="nop", overlay=tmp_path, base_images={"a": "b"}, test_timeout_multiplier=2.0)
    again = Options.of(given.recorded())
    assert again.task_settings == given.task_settings
    assert again.task_settings.changed == ("--overlay", "--base-image", "--test-timeout-multiplier")
