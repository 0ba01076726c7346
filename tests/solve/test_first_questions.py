"""The first questions of a user after a trial: which tests failed, what now, and the whole output of a command."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.solve.command import AGENT, CommandResult, agent, environment

SUBMIT = "echo COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT"
BUILDS = "printf '#!/bin/sh\\necho no\\n' >ledger; printf 'chmod +x ledger\\n' >compile.sh; chmod +x compile.sh ledger"


def solve(folder: Path, *commands: str, json_: bool = False) -> CommandResult:
    (folder / "script.json").write_text(json.dumps([*commands, SUBMIT]))
    argv = ("solve", "--task", "demo/ledger", "--env", "sandbox", "--model", "script:script.json", "--runs", "runs")
    return agent(folder, *argv, *(["--json"] if json_ else []))


def trial_of(folder: Path) -> str:
    (events,) = folder.glob("runs/*/*/events.jsonl")
    return str(events.parent.relative_to(folder))


@pytest.mark.sandbox
def test_the_tests_that_failed_are_named_with_the_logs_and_the_next_command(tmp_path: Path) -> None:
    result = solve(tmp_path, BUILDS)
    assert result.status == 0, result.err
    trial = trial_of(tmp_path)
    lines = result.out.splitlines()
    start = next(index for index, line in enumerate(lines) if line.endswith("tests failed, for example:"))
    assert all(line.startswith("  failed  ") and "::" in line for line in lines[start + 1 : start + 6])
    assert f"logs: {trial}/evaluation" in lines
    assert f"all that failed: agent show {trial} --verdict --failed" in lines
    assert result.err.splitlines()[-1] == f"next: agent show {trial}"

    shown = agent(tmp_path, "show", trial, "--verdict", "--failed")
    whole = agent(tmp_path, "show", trial, "--verdict", "--json").json
    failed = [case["id"] for case in whole["cases"] if case["status"] != "passed"]
    assert 0 < len(failed) <= len(whole["cases"])
    assert [line for line in shown.out.splitlines() if "::" in line and line.split()[1:2] != []]
    assert {line.split(None, 1)[1] for line in shown.out.splitlines() if line.startswith(("failed ", "error "))} >= set(
        failed[:5]
    )
    only = agent(tmp_path, "show", trial, "--verdict", "--failed", "--json").json
    assert [case["id"] for case in only["cases"]] == failed

    for report in (agent(tmp_path, "show", trial, "--json").json["verdict"],):
        assert report["cases_total"] == len(whole["cases"])
        assert [case["id"] for case in report["failed_cases"]] == failed[:100]
        assert json.loads((tmp_path / report["file"]).read_text())["cases"] == whole["cases"]


@pytest.mark.sandbox
def test_the_json_of_solve_and_evaluate_name_the_failed_cases(tmp_path: Path) -> None:
    solved = solve(tmp_path, BUILDS, json_=True).json
    evaluated = agent(tmp_path, "evaluate", solved["trial"], "--env", "sandbox", "--json").json
    for report in (solved["verdict"], evaluated["verdict"]):
        assert report["failed_cases"][0]["status"] == "failed"
        assert report["cases_total"] == report["groups"]["tests"]["total"]
        assert report["file"] == f"{solved['trial']}/verdict.json"


@pytest.mark.sandbox
def test_the_whole_output_of_a_command_is_written_byte_for_byte(tmp_path: Path) -> None:
    solve(tmp_path, "printf 'a\\0\\377'; head -c 100000 /dev/zero", "printf short")
    trial = trial_of(tmp_path)
    argv = [*AGENT, "show", trial, "--output", "1.1"]
    result = subprocess.run(argv, cwd=tmp_path, env=environment(tmp_path), capture_output=True, check=True)
    assert result.stdout == b"a\0\xff" + bytes(100_000)
    assert agent(tmp_path, "show", trial, "--output", "2.1").out == "short"
    missing = agent(tmp_path, "show", trial, "--output", "7.1")
    assert (missing.status, missing.out) == (2, "")
    assert "there is no finished command '7.1'; the last is 2.1" in missing.err


@pytest.mark.sandbox
def test_a_part_of_the_steps_is_shown(tmp_path: Path) -> None:
    solve(tmp_path, "echo first", "echo second")
    trial = trial_of(tmp_path)
    assert "echo first" not in (last := agent(tmp_path, "show", trial, "--tail", "2").out)
    assert "echo second" in last
    assert "verdict: " in last
    assert agent(tmp_path, "show", trial, "--from", "2").out == last
    beyond = agent(tmp_path, "show", trial, "--from", "9")
    assert (beyond.status, beyond.err.strip()) == (2, f"agent: {trial}: there is no step 9; the last is 3")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--step", "1", "--check"), "--step and --check name different parts of a trial: give one of them"),
        (("--tail", "1", "--json"), "--tail has no JSON: use it without --json"),
        (("--failed",), "--failed selects tests of a verdict: use it with --verdict"),
    ],
)
def test_options_that_do_not_go_together(tmp_path: Path, options: tuple[str, ...], message: str) -> None:
    result = agent(tmp_path, "show", "some-trial", *options)
    assert (result.status, result.err.strip()) == (2, f"agent: {message}")


@pytest.mark.sandbox
def test_a_trial_is_paged_on_a_terminal(tmp_path: Path) -> None:
    """The pager gets the whole text, and leaving it early is no error."""
    solve(tmp_path, "echo first")
    trial = trial_of(tmp_path)
    for pager, expected in (("cat -n", b"     1\t"), ("head -c 0", b""), ("no-such-pager", b"echo first")):
        main, terminal = pty.openpty()
        variables = environment(tmp_path, PAGER=pager)
        process = subprocess.Popen(
            [*AGENT, "show", trial], cwd=tmp_path, env=variables, stdin=terminal, stdout=terminal, stderr=terminal
        )
        os.close(terminal)
        text = _all_of(main)
        assert process.wait(30) == 0, text
        assert expected in text
        assert (b"echo first" in text) == bool(expected)


def _all_of(terminal: int) -> bytes:
    text = b""
    try:
        while piece := os.read(terminal, 1 << 16):
            text += piece
    except OSError:  # the other end of a terminal was closed
        pass
    os.close(terminal)
    return text


@pytest.mark.sandbox
def test_the_next_command_after_an_interrupt_continues_the_trial(tmp_path: Path) -> None:
    (tmp_path / "script.json").write_text(json.dumps(["echo started; sleep 60", SUBMIT]))
    argv = ("solve", "--task", "demo/ledger", "--env", "sandbox", "--model", "script:script.json", "--runs", "runs")
    process = subprocess.Popen(
        [*AGENT, *argv],
        cwd=tmp_path,
        env=environment(tmp_path),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    while not any("action_started" in path.read_text() for path in tmp_path.glob("runs/*/*/events.jsonl")):
        assert process.poll() is None, process.communicate()
    process.send_signal(2)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 130
    assert f"next: agent resume {trial_of(tmp_path)}" in err.splitlines()


def test_the_next_command_after_an_interrupt_repeats_a_replay(tmp_path: Path) -> None:
    (tmp_path / "start").mkdir()
    slow = f"if [ -e {tmp_path}/again ]; then touch {tmp_path}/started; sleep 60; fi"
    (tmp_path / "script.json").write_text(json.dumps([slow, SUBMIT]))
    argv = ("--instruction", "do it", "--workspace", "start", "--env", "local", "--model", "script:script.json")
    assert agent(tmp_path, "solve", *argv).status == 0
    (tmp_path / "again").touch()
    trial = trial_of(tmp_path)
    last = interrupted(tmp_path, ("replay", trial, "--env", "local"), (tmp_path / "started").exists)
    assert last[-2].startswith(f"next: agent replay {trial} --env local   # ")


@pytest.mark.sandbox
def test_the_next_command_after_an_interrupt_repeats_an_evaluation(tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "compile.sh").write_text("sleep 60\n")
    argv = ("evaluate", "mine", "--task", "demo/ledger", "--env", "sandbox")
    last = interrupted(tmp_path, argv, lambda: "building" in (tmp_path / "err").read_text())
    assert last[-2].startswith("next: agent evaluate mine --task demo/ledger --env sandbox   # ")


def interrupted(folder: Path, argv: tuple[str, ...], started: Callable[[], bool]) -> list[str]:
    """Interrupt a command once it has started, and return the lines of its standard error."""
    with open(folder / "err", "w") as err:
        process = subprocess.Popen(
            [*AGENT, *argv], cwd=folder, env=environment(folder), stdin=subprocess.DEVNULL, stderr=err
        )
    while not started():
        assert process.poll() is None, (folder / "err").read_text()
        time.sleep(0.05)
    process.send_signal(2)
    assert process.wait(timeout=60) == 130
    return (folder / "err").read_text().splitlines()
