"""`agent solve` as a user meets it, in a real process, on the host itself (`--env local`)."""

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


@pytest.fixture
def work(tmp_path: Path) -> Path:
    """A user's directory with a small workspace in it."""
    (tmp_path / "start").mkdir()
    (tmp_path / "start" / "hello.txt").write_text("hello\n")
    return tmp_path


def adhoc(work: Path, model: str, *options: str, **extra: str) -> CommandResult:
    return agent(
        work,
        "solve",
        *("--instruction", "Say hello.", "--workspace", "start", "--env", "local", "--model", model, "--json"),
        *options,
        **extra,
    )


def members(trial: Path) -> dict[str, tarfile.TarInfo]:
    with (
        zstandard.open(trial / "workspace.tar.zst", "rb") as file,
        tarfile.open(fileobj=file, mode="r|") as archive,
    ):
        return {member.name.removeprefix("./").rstrip("/"): member for member in archive}


def test_a_trial_is_recorded_exported_and_summed_up(work: Path) -> None:
    done = adhoc(work, script(work, "cat hello.txt", ["echo one >one", "false"], SUBMIT))
    assert done.status == 0, done.err
    summary = done.json
    assert summary["exit"] == {"reason": "agent", "cause": "submitted", "detail": ""}
    assert (summary["steps"], summary["commands"]) == (3, 3)
    assert summary["cost_usd"] == {"billed": 0.0, "computed": 0.0, "list": 0.0}
    assert summary["verdict"] is None
    assert {"input", "cache_read", "cache_write_5m", "cache_write_1h", "output", "reasoning"} == set(summary["usage"])
    stored = json.loads((done.trial / "trial.json").read_text())
    assert stored.pop("events_bytes") == (done.trial / "events.jsonl").stat().st_size
    assert stored == summary
    exits = [event.exit_code for event in done.events if event.type == "action_finished"]
    assert exits == [0, 0, 1]
    first = next(event for event in done.events if event.type == "action_finished")
    assert first.output.text == "hello\n"
    assert set(members(done.trial)) >= {"hello.txt", "one"}
    assert {(member.uid, member.gid) for member in members(done.trial).values()} == {(0, 0)}
    assert not (work / "start" / "one").exists(), "the user's own directory must not change"


def test_the_record_tells_everything_in_order(work: Path) -> None:
    done = adhoc(work, script(work, "true", SUBMIT), "--plan", str(_write(work / "plan.md", "First look.")))
    kinds = [event.type for event in done.events]
    assert kinds[:2] == ["trial_started", "env_started"]
    assert [event.why for event in done.events if event.type == "message"][:3] == ["system", "task", "plan"]
    assert kinds[-2:] == ["exit", "workspace_exported"]
    assert kinds.index("call_started") < kinds.index("call_finished") < kinds.index("action_started")
    ids = [i for event in done.events if event.type == "call_started" for i in event.message_ids]
    assert ids == [f"m{number}" for number in range(1, len(ids) + 1)]


def test_attempts_take_the_next_free_number_and_share_a_configuration(work: Path) -> None:
    model = script(work, SUBMIT)
    first, second = adhoc(work, model), adhoc(work, model)
    assert (first.json["attempt"], second.json["attempt"]) == (1, 2)
    assert first.trial.name.rpartition(".")[0] == second.trial.name.rpartition(".")[0]
    several = adhoc(work, model, "--attempts", "2")
    assert [trial["attempt"] for trial in several.json["trials"]] == [3, 4]
    other = adhoc(work, model, "--step-limit", "7")
    assert other.json["attempt"] == 1


@pytest.mark.parametrize(
    ("options", "cause"),
    [
        (("--step-limit", "2"), "steps"),
        (("--time-limit", "0.5s"), "time"),
        (("--token-limit", "10"), "tokens"),
    ],
)
def test_each_limit_ends_a_trial_as_a_result(work: Path, options: tuple[str, str], cause: str) -> None:
    turn = {"commands": ["sleep 0.2"], "usage": {"input": 4, "output": 1}}
    done = adhoc(work, script(work, *[turn] * 20), *options)
    assert done.status == 0, done.err
    assert done.json["exit"]["reason"] == "limit"
    assert done.json["exit"]["cause"] == cause
    assert done.json["steps"] < 5
    assert (done.trial / "workspace.tar.zst").exists()


def test_a_command_past_its_deadline_is_ended_and_told(work: Path) -> None:
    done = adhoc(work, script(work, "echo before; sleep 1000", SUBMIT), "--command-timeout", "1s")
    finished = next(event for event in done.events if event.type == "action_finished")
    assert (finished.ended, finished.exit_code, finished.output.text) == ("deadline", None, "before\n")
    told = next(event for event in done.events if event.type == "message" and event.why == "observation")
    assert "deadline" in told.content


def test_a_model_that_runs_out_of_turns_gives_up(work: Path) -> None:
    assert adhoc(work, script(work, "true")).json["exit"]["cause"] == "gave_up"


def test_a_replayed_trial_asks_for_the_same_commands_and_ends_the_same(work: Path) -> None:
    done = adhoc(work, script(work, "cat hello.txt", ["echo a", "exit 3"], SUBMIT))
    again = adhoc(work, f"replay:{done.trial}")
    assert again.json["exit"] == done.json["exit"]

    def story(events: list[object]) -> list[object]:
        return [
            (event.action, event.exit_code, event.output.sha256) for event in events if event.type == "action_finished"
        ]

    assert story(again.events) == story(done.events)


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
    assert _still_running("sleep 100.133", events.parent) == []


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_closed_terminal_or_a_terminate_ends_it_like_ctrl_c(work: Path, number: signal.Signals) -> None:
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


def test_odd_files_in_the_workspace_are_exported_or_named(work: Path) -> None:
    commands = [
        "mkfifo pipe; ln -s nowhere dangling; : >empty; mkdir -p 'a b/c'; truncate -s 2G sparse",
        "printf x > \"$(printf 'bad\\xff')\"; python3 -c 'import socket; socket.socket(socket.AF_UNIX).bind(\"sock\")'",
        SUBMIT,
    ]
    done = adhoc(work, script(work, *commands))
    assert done.status == 0, done.err
    names = members(done.trial)
    assert names["dangling"].issym()
    assert names["empty"].size == 0
    assert names["sparse"].size == 2 << 30
    assert "bad\udcff" in names
    exported = next(event for event in done.events if event.type == "workspace_exported")
    assert {skipped.path.removeprefix("./") for skipped in exported.skipped} == {"pipe", "sock"}
    assert exported.bytes == (done.trial / "workspace.tar.zst").stat().st_size < 1 << 20


def test_secrets_of_the_environment_do_not_enter_the_record(work: Path) -> None:
    done = adhoc(work, script(work, "env; echo sk-verysecret-123", SUBMIT), SOME_API_KEY="sk-verysecret-123")
    text = (done.trial / "events.jsonl").read_text()
    assert "[secret:SOME_API_KEY]" in text
    assert text.count("sk-verysecret-123") == 0


def test_progress_is_plain_lines_on_standard_error(work: Path) -> None:
    done = adhoc(work, script(work, "echo hi", SUBMIT))
    assert "step 1   exit 0" in done.err
    assert "$ echo hi" in done.err
    assert "\x1b" not in done.err


def test_show_trials_and_steps(work: Path) -> None:
    done = adhoc(work, script(work, "printf '\\033[2Jescaped'", SUBMIT))
    listing = agent(work, "trials", "--json").json
    assert [trial["trial"] for trial in listing["trials"]] == [str(done.json["trial"])]
    assert "submitted" in agent(work, "trials").out
    prefix = done.trial.name[:12]
    shown = agent(work, "show", prefix)
    assert shown.status == 0, shown.err
    assert "\x1b" not in shown.out
    assert "\u241b[2Jescaped" in shown.out
    step = agent(work, "show", prefix, "--step", "1", "--json").json
    assert [event["type"] for event in step["events"]][:2] == ["call_started", "call_finished"]
    assert agent(work, "show", prefix, "--step", "9").status == 2
    (done.trial / "trial.json").unlink()
    assert agent(work, "show", prefix, "--rebuild", "--json").json == {**done.json, "forks": []}
    assert (done.trial / "trial.json").exists()


def test_show_follow_goes_on_until_the_trial_ends(work: Path) -> None:
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
    done = adhoc(work, script(work, SUBMIT), "--dry-run")
    assert done.json["environment"] == "local"
    assert done.json["limits"]["steps"] == 1000
    assert not (work / "runs").exists()


def test_defaults_come_from_the_users_file_and_flags_override_them(work: Path) -> None:
    (work / "config").mkdir()
    _write(work / "config" / "config.yaml", "step-limit: 3\ntime-limit: 2h\n")
    done = adhoc(work, script(work, SUBMIT), "--dry-run", "--time-limit", "1h")
    assert (done.json["limits"]["steps"], done.json["limits"]["time_s"]) == (3, 3600.0)
    _write(work / "config" / "config.yaml", "step-limits: 3\n")
    refused = adhoc(work, script(work, SUBMIT), "--dry-run")
    assert refused.status == 2
    assert "config.yaml: unknown key 'step-limits'" in refused.err


def _write(path: Path, text: str) -> Path:
    path.write_text(text)
    return path


def _wait_for(runs: Path, text: str, seconds: float = 60) -> Path:
    """The events file under `runs`, once it holds this text."""
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        for path in runs.glob("*/*/events.jsonl"):
            if text in path.read_text():
                return path
        time.sleep(0.05)
    raise AssertionError(f"{text} did not come")


def _still_running(command: str, trial: Path) -> list[str]:
    """Processes with this command line that run in a directory of the trial's time; waits a moment for them to go."""
    assert list(read_events(trial))
    for _ in range(50):
        found = []
        for path in Path("/proc").glob("[0-9]*/cmdline"):
            try:
                line = path.read_bytes().replace(b"\0", b" ").decode("utf-8", "replace").strip()
            except OSError:
                continue
            if line == command:
                found.append(line)
        if not found:
            return []
        time.sleep(0.1)
    return found
