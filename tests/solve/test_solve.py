"""`agent solve` as a user sees it, in a process of its own, with commands on the host itself (`--env local`)."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import tarfile
import time
from pathlib import Path

import pytest
import zstandard

from agent.loop.actions import SUBMIT
from tests.solve.command import AGENT, CommandResult, agent, environment, script
from trajectories.reading.reader import read_events
from trajectories.record.events import TrialStarted
from trajectories.record.identity import identity_of


@pytest.fixture
def work(tmp_path: Path) -> Path:
    """A user's directory with a small workspace in it."""
    (tmp_path / "start").mkdir()
    (tmp_path / "start" / "hello.txt").write_text("hello\n")
    return tmp_path


def solve(work: Path, model: str, *options: str, **extra: str) -> CommandResult:
    """Run `agent solve` with a literal instruction; options are added at the end, `extra` to the environment."""
    return agent(
        work,
        "solve",
        *("--instruction", "Say hello.", "--workspace", "start", "--env", "local", "--model", model, "--json"),
        *options,
        **extra,
    )


def members(trial: Path) -> dict[str, tarfile.TarInfo]:
    """Return the entries of a trial's exported workspace by their paths."""
    with (
        zstandard.open(trial / "workspace.tar.zst", "rb") as file,
        tarfile.open(fileobj=file, mode="r|") as archive,
    ):
        return {member.name.removeprefix("./").rstrip("/"): member for member in archive}


def test_a_trial_is_recorded_exported_and_summarized(work: Path) -> None:
    result = solve(work, script(work, "cat hello.txt", ["echo one >one", "false"], SUBMIT))
    assert result.status == 0, result.err
    summary = result.json
    assert summary["exit"] == {"reason": "agent", "cause": "submitted", "detail": ""}
    assert (summary["steps"], summary["commands"]) == (3, 3)
    assert summary["cost_usd"] == {"billed": 0.0, "computed": 0.0, "list": 0.0}
    assert summary["verdict"] is None
    assert {"input", "cache_read", "cache_write_5m", "cache_write_1h", "output", "reasoning"} == set(summary["usage"])
    stored = json.loads((result.trial / "trial.json").read_text())
    assert stored.pop("events_bytes") == (result.trial / "events.jsonl").stat().st_size
    assert stored == summary
    exits = [event.exit_code for event in result.events if event.type == "action_finished"]
    assert exits == [0, 0, 1]
    first = next(event for event in result.events if event.type == "action_finished")
    assert first.output.text == "hello\n"
    assert set(members(result.trial)) >= {"hello.txt", "one"}
    assert {(member.uid, member.gid) for member in members(result.trial).values()} == {(0, 0)}
    assert not (work / "start" / "one").exists(), "the user's own directory must not change"


def test_the_record_holds_every_event_in_order(work: Path) -> None:
    result = solve(work, script(work, "true", SUBMIT), "--plan", str(_write(work / "plan.md", "First look.")))
    kinds = [event.type for event in result.events]
    assert kinds[:2] == ["trial_started", "env_started"]
    assert [event.why for event in result.events if event.type == "message"][:3] == ["system", "task", "plan"]
    start = result.events[0]
    assert isinstance(start, TrialStarted)
    assert (start.mode, start.identity) == ("plan", identity_of(start))
    assert kinds[-2:] == ["exit", "workspace_exported"]
    assert kinds.index("call_started") < kinds.index("call_finished") < kinds.index("action_started")
    ids = [i for event in result.events if event.type == "call_started" for i in event.message_ids]
    assert ids == [f"m{number}" for number in range(1, len(ids) + 1)]


def test_attempts_take_the_next_free_number_and_share_a_configuration(work: Path) -> None:
    model = script(work, SUBMIT)
    first, second = solve(work, model), solve(work, model)
    assert (first.json["attempt"], second.json["attempt"]) == (1, 2)
    assert first.trial.name.rpartition(".")[0] == second.trial.name.rpartition(".")[0]
    several = solve(work, model, "--attempts", "2")
    assert [trial["attempt"] for trial in several.json["trials"]] == [3, 4]
    other = solve(work, model, "--step-limit", "7")
    assert other.json["attempt"] == 1


@pytest.mark.parametrize(
    ("options", "cause"),
    [
        (("--step-limit", "2"), "steps"),
        (("--time-limit", "0.5s"), "time"),
        (("--token-limit", "10"), "tokens"),
    ],
)
def test_a_trial_that_reaches_a_limit_ends_with_a_result_and_not_an_error(
    work: Path, options: tuple[str, str], cause: str
) -> None:
    turn = {"commands": ["sleep 0.2"], "usage": {"input": 4, "output": 1}}
    result = solve(work, script(work, *[turn] * 20), *options)
    assert result.status == 0, result.err
    assert result.json["exit"]["reason"] == "limit"
    assert result.json["exit"]["cause"] == cause
    assert result.json["steps"] < 5
    assert (result.trial / "workspace.tar.zst").exists()


def test_a_command_past_its_deadline_is_ended_and_the_model_learns_it(work: Path) -> None:
    result = solve(work, script(work, "echo before; sleep 1000", SUBMIT), "--command-timeout", "1s")
    finished = next(event for event in result.events if event.type == "action_finished")
    assert (finished.ended, finished.exit_code, finished.output.text) == ("deadline", None, "before\n")
    observation = next(event for event in result.events if event.type == "message" and event.why == "observation")
    assert "deadline" in observation.content


def test_a_model_that_runs_out_of_turns_gives_up(work: Path) -> None:
    assert solve(work, script(work, "true")).json["exit"]["cause"] == "gave_up"


def test_a_replayed_trial_asks_for_the_same_commands_and_ends_the_same(work: Path) -> None:
    result = solve(work, script(work, "cat hello.txt", ["echo a", "exit 3"], SUBMIT))
    replayed = solve(work, f"replay:{result.trial}")
    assert replayed.json["exit"] == result.json["exit"]

    def story(events: list[object]) -> list[object]:
        return [
            (event.action, event.exit_code, event.output.sha256) for event in events if event.type == "action_finished"
        ]

    assert story(replayed.events) == story(result.events)


def test_ctrl_c_closes_the_record_and_still_prints_the_json(work: Path) -> None:
    argv = ["solve", "--instruction", "x", "--workspace", "start", "--env", "local", "--json"]
    process = subprocess.Popen(
        [*AGENT, *argv, "--model", script(work, "touch made", "sleep 100.133", SUBMIT)],
        cwd=work,
        env=environment(work),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    events = _wait_for(work / "runs", '"action":"2.1"')
    os.killpg(process.pid, signal.SIGINT)
    out, err = process.communicate(timeout=120)
    assert process.returncode == 130, err
    summary = json.loads(out)
    assert summary["exit"]["cause"] == "interrupted"
    assert "made" in members(events.parent)
    assert list(read_events(events.parent))
    assert _still_running("sleep 100.133") == []


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_sigterm_and_sighup_end_a_trial_like_ctrl_c(work: Path, number: signal.Signals) -> None:
    argv = ["solve", "--instruction", "x", "--workspace", "start", "--env", "local", "--json"]
    process = subprocess.Popen(
        [*AGENT, *argv, "--model", script(work, "sleep 101", SUBMIT)],
        cwd=work,
        env=environment(work),
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    _wait_for(work / "runs", '"action_started"')
    process.send_signal(number)
    out, _ = process.communicate(timeout=120)
    assert process.returncode == 130
    assert json.loads(out)["exit"]["cause"] == "interrupted"


def test_unusual_files_in_the_workspace_are_exported_or_recorded_as_skipped(work: Path) -> None:
    commands = [
        "mkfifo pipe; ln -s nowhere dangling; : >empty; mkdir -p 'a b/c'; truncate -s 2G sparse",
        "printf x > \"$(printf 'bad\\xff')\"; python3 -c 'import socket; socket.socket(socket.AF_UNIX).bind(\"sock\")'",
        SUBMIT,
    ]
    result = solve(work, script(work, *commands))
    assert result.status == 0, result.err
    names = members(result.trial)
    assert names["dangling"].issym()
    assert names["empty"].size == 0
    assert names["sparse"].size == 2 << 30
    assert "bad\udcff" in names
    exported = next(event for event in result.events if event.type == "workspace_exported")
    assert {skipped.path.removeprefix("./") for skipped in exported.skipped} == {"pipe", "sock"}
    assert exported.bytes == (result.trial / "workspace.tar.zst").stat().st_size < 1 << 20


def test_secrets_of_the_environment_do_not_enter_the_record(work: Path) -> None:
    result = solve(work, script(work, "env; echo sk-verysecret-123", SUBMIT), SOME_API_KEY="sk-verysecret-123")
    text = (result.trial / "events.jsonl").read_text()
    assert "[secret:SOME_API_KEY]" in text
    assert text.count("sk-verysecret-123") == 0


def test_progress_is_plain_lines_on_standard_error(work: Path) -> None:
    result = solve(work, script(work, "echo hi", SUBMIT))
    assert "step 1   exit 0" in result.err
    assert "$ echo hi" in result.err
    assert "\x1b" not in result.err


def test_trials_and_steps_are_shown(work: Path) -> None:
    result = solve(work, script(work, "printf '\\033[2Jescaped'", SUBMIT))
    listing = agent(work, "trials", "--json").json
    assert [trial["trial"] for trial in listing["trials"]] == [str(result.json["trial"])]
    assert "submitted" in agent(work, "trials").out
    prefix = result.trial.name[:12]
    page = agent(work, "show", prefix)
    assert page.status == 0, page.err
    assert "\x1b" not in page.out
    assert "\u241b[2Jescaped" in page.out
    step = agent(work, "show", prefix, "--step", "1", "--json").json
    assert [event["type"] for event in step["events"]][:2] == ["call_started", "call_finished"]
    assert agent(work, "show", prefix, "--step", "9").status == 2
    (result.trial / "trial.json").unlink()
    assert agent(work, "show", prefix, "--rebuild", "--json").json == {**result.json, "forks": [], "replays": []}
    assert (result.trial / "trial.json").exists()


def test_show_follow_prints_until_the_trial_ends(work: Path) -> None:
    argv = ["solve", "--instruction", "x", "--workspace", "start", "--env", "local"]
    solving = subprocess.Popen(
        [*AGENT, *argv, "--model", script(work, "echo first", "sleep 2; echo second", SUBMIT)],
        cwd=work,
        env=environment(work),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    trial = _wait_for(work / "runs", '"action_started"').parent
    followed = agent(work, "show", str(trial), "--follow")
    assert solving.wait(timeout=120) == 0
    assert "second" in followed.out
    assert "exit: agent: submitted" in followed.out


def test_dry_run_resolves_everything_and_starts_nothing(work: Path) -> None:
    result = solve(work, script(work, SUBMIT), "--dry-run")
    assert result.json["environment"] == "local"
    assert result.json["limits"]["steps"] == 1000
    assert not (work / "runs").exists()


def test_defaults_come_from_the_users_file_and_flags_override_them(work: Path) -> None:
    (work / "config").mkdir()
    _write(work / "config" / "config.yaml", "step-limit: 3\ntime-limit: 2h\n")
    result = solve(work, script(work, SUBMIT), "--dry-run", "--time-limit", "1h")
    assert (result.json["limits"]["steps"], result.json["limits"]["time_s"]) == (3, 3600.0)
    _write(work / "config" / "config.yaml", "step-limits: 3\n")
    rejected = solve(work, script(work, SUBMIT), "--dry-run")
    assert rejected.status == 2
    assert "config.yaml: line 1: step-limits: unknown key; did you mean step-limit?" in rejected.err


def _write(path: Path, text: str) -> Path:
    path.write_text(text)
    return path


def _wait_for(runs: Path, text: str, seconds: float = 60) -> Path:
    """Return the events file under `runs` once it contains a text."""
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        for path in runs.glob("*/*/events.jsonl"):
            if text in path.read_text():
                return path
        time.sleep(0.05)
    raise AssertionError(f"no record contains {text}")


def _still_running(command: str) -> list[str]:
    """Return processes with this command line; give them a few seconds to end."""
    for _ in range(50):
        processes = []
        for path in Path("/proc").glob("[0-9]*/cmdline"):
            try:
                line = path.read_bytes().replace(b"\0", b" ").decode("utf-8", "replace").strip()
            except OSError:
                continue
            if line == command:
                processes.append(line)
        if not processes:
            return []
        time.sleep(0.1)
    return processes
