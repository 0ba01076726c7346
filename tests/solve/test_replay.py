"""`agent replay` compares outputs and workspace with the record, names each divergence, and the first causal one."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import tarfile
import time
from pathlib import Path
from typing import Any

import pytest

from agent.loop.actions import SUBMIT
from tests.solve.command import AGENT, CommandResult, agent, environment, script

KINDS = ["local", pytest.param("sandbox", marks=pytest.mark.sandbox), pytest.param("docker", marks=pytest.mark.docker)]
KEYS = [
    "trial",
    "environment",
    "actions",
    "returncodes_equal",
    "outputs_identical",
    "outputs_equal_normalized",
    "divergences",
    "first_causal",
    "workspace_equal",
    "workspace_differences",
    "not_replayed",
    "not_restored",
    "not_compared",
    "notes",
    "not_recorded",
    "snapshots",
    "submission_equal",
    "file",
]


@pytest.fixture
def work(tmp_path: Path) -> Path:
    (tmp_path / "start").mkdir()
    (tmp_path / "start" / "given").write_text("given\n")
    return tmp_path


def solve(work: Path, *turns: Any, kind: str = "local", limits: tuple[str, ...] = ()) -> Path:
    """Solve with a script of these turns; return the trial."""
    if kind == "docker":
        options = ["--task", "demo/ledger", "--no-evaluate"]
    else:
        options = ["--instruction", "x", "--workspace", str(work / "start")]
    result = agent(work, "solve", *options, "--env", kind, "--model", script(work, *turns, SUBMIT), *limits, "--json")
    assert result.status == 0, result.err
    return result.trial


def replay(work: Path, trial: Path, *argv: str, status: int = 0) -> Any:
    """Replay a trial; check the exit status, and return the JSON report."""
    result = agent(work, "replay", str(trial), *argv, "--json")
    assert result.status == status, result.err
    assert "Traceback" not in result.err
    return result.json


def classes(report: Any) -> dict[str, str]:
    """Return the class of divergence of each action that diverges."""
    return {divergence["action"]: divergence["class"] for divergence in report["divergences"]}


@pytest.mark.parametrize("kind", KINDS)
def test_commands_that_repeat_are_identical(work: Path, kind: str) -> None:
    trial = solve(
        work,
        "echo one >log; ln -s log link; mkdir -p d/e; chmod 600 log",
        ["cat log", "rm link; exit 3", "kill -9 $$"],
        "head -c 300000 /dev/urandom >/dev/null; seq 60000",
        "printf 'a\\000\\377b'",
        kind=kind,
    )
    report = replay(work, trial, "--strict")
    assert list(report) == KEYS
    assert report["actions"] == report["returncodes_equal"] == report["outputs_identical"] == 6
    assert report["outputs_equal_normalized"] == 6
    assert (report["divergences"], report["first_causal"], report["workspace_equal"]) == ([], None, True)
    assert report["notes"] == report["not_replayed"] == []


@pytest.mark.parametrize("kind", KINDS)
def test_commands_that_do_not_repeat_are_named(work: Path, kind: str) -> None:
    trial = solve(
        work,
        "date +%s.%N",
        "mktemp -u",
        "echo $RANDOM$RANDOM$RANDOM",
        "exit $((RANDOM % 200 + 1))",
        "echo same",
        kind=kind,
    )
    report = replay(work, trial, "--strict", status=1)
    by_action = classes(report)
    assert (by_action["1.1"], by_action["2.1"], by_action["3.1"]) == ("times", "temporary names", "output")
    assert by_action.get("4.1", "exit code") == "exit code"  # the code is the same in one of 200 runs
    assert "5.1" not in by_action
    assert report["actions"] == 5
    assert report["outputs_identical"] == 2
    assert report["outputs_equal_normalized"] == 4
    assert report["first_causal"] is None
    assert report["workspace_equal"] is True


@pytest.mark.parametrize("kind", KINDS)
def test_the_action_after_which_the_workspace_differs_is_the_causal_one(work: Path, kind: str) -> None:
    trial = solve(
        work,
        "date +%N",
        ["echo a >a", "date +%N >stamp", "date +%N", "echo b >b"],
        "cat stamp; cp stamp other",
        kind=kind,
    )
    report = replay(work, trial)
    assert report["first_causal"]["action"] == "2.2"
    assert "stamp" in report["first_causal"]["detail"]
    assert report["workspace_equal"] is False
    assert report["workspace_differences"] == ["other", "stamp"]
    by_action = [(divergence["action"], divergence["class"]) for divergence in report["divergences"]]
    assert ("2.2", "workspace") in by_action
    assert ("3.1", "workspace") in by_action


def test_a_changed_initial_file_diverges_at_the_first_command_that_reads_it(work: Path) -> None:
    trial = solve(work, "echo unrelated", "wc -c <given >size", "cat size")
    other = work / "other"
    other.mkdir()
    (other / "given").write_text("given and more\n")
    report = replay(work, trial, "--workspace", str(other))
    assert any("from the beginning" in note and "given" in note for note in report["notes"])
    assert report["first_causal"]["action"] == "2.1"
    assert "size" in report["first_causal"]["detail"]
    assert classes(report)["3.1"] == "output"
    assert report["workspace_differences"] == ["given", "size"]


def test_a_difference_that_vanishes_is_reported_and_the_final_workspace_is_equal(work: Path) -> None:
    report = replay(work, solve(work, "date +%N >stamp", "rm stamp"))
    assert report["first_causal"]["action"] == "1.1"
    assert report["workspace_equal"] is True


def test_a_command_reaches_its_deadline_again(work: Path) -> None:
    trial = solve(work, "echo before; sleep 30; echo after", limits=("--command-timeout", "1s"))
    report = replay(work, trial, "--strict")
    assert (report["actions"], report["returncodes_equal"], report["outputs_identical"]) == (1, 1, 1)


def test_different_output_before_a_deadline_has_a_class_of_its_own(work: Path) -> None:
    trial = solve(work, "date +%N | tr 0-9 a-j; sleep 30", limits=("--command-timeout", "1s"))
    assert classes(replay(work, trial)) == {"1.1": "cut at the deadline"}


@pytest.mark.parametrize("suffix", ["tar", "tar.gz"])
def test_a_replay_begins_with_an_archive(work: Path, suffix: str) -> None:
    trial = solve(work, "cat given >copy")
    path = work / f"start.{suffix}"
    with tarfile.open(path, "w:gz" if suffix == "tar.gz" else "w") as archive:
        archive.add(work / "start" / "given", "given")
    assert replay(work, trial, "--workspace", str(path), "--strict")["workspace_equal"] is True


def test_a_replay_that_begins_with_the_exported_workspace_names_the_files_that_differ(work: Path) -> None:
    trial = solve(work, "cat given >copy")
    report = replay(work, trial, "--workspace", str(trial / "workspace.tar.zst"))
    assert any("copy" in note for note in report["notes"])


def test_a_replay_uses_the_recorded_shell_also_with_another_environment_and_workspace(work: Path) -> None:
    options = ["--instruction", "x", "--workspace", str(work / "start"), "--env", "local", "--shell", "persistent"]
    turns = ["mkdir -p deep; cd deep; here=1", 'echo "$here" >f; cat f', SUBMIT]
    trial = agent(work, "solve", *options, "--model", script(work, *turns), "--json").trial
    report = replay(work, trial, "--env", "local", "--workspace", str(work / "start"))
    assert (report["outputs_identical"], report["actions"], report["workspace_equal"]) == (2, 2, True)


@pytest.mark.docker
def test_a_replay_in_another_image(work: Path, workbench_image: str) -> None:
    trial = solve(work, "echo a >a; cat a", kind="docker")
    report = replay(work, trial, "--image", workbench_image)
    assert (report["actions"], report["outputs_identical"], report["workspace_equal"]) == (1, 1, True)


def test_a_replay_of_the_first_steps_only(work: Path) -> None:
    trial = solve(work, "echo 1 >a", "echo 2 >a", "date +%N >a")
    report = replay(work, trial, "--to", "2", "--strict")
    assert (report["actions"], report["workspace_equal"]) == (2, True)
    assert replay(work, trial)["workspace_equal"] is False


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        (("--to", "9"), "--to 9"),
        (("--workspace", "nowhere"), "nowhere"),
        (("--workspace", "start/given"), "neither a directory nor a whole tar"),
        (("--workspace", "escaping.tar"), "escapes the workspace"),
        (("--env", "moon"), "moon"),
        (("--image", "x", "--env", "local"), "--image"),
    ],
)
def test_an_invalid_value_is_reported_in_a_single_line(work: Path, argv: tuple[str, ...], message: str) -> None:
    with tarfile.open(work / "escaping.tar", "w") as archive:
        archive.add(work / "start" / "given", "../../escaped")
    result = agent(work, "replay", str(solve(work, "true")), *argv)
    assert result.status == 2, result.err
    assert message in result.err
    assert len(result.err.strip().splitlines()) == 1


def killed(work: Path, *turns: Any, when: str) -> Path:
    """Kill a trial once its events contain the text `when`; return the trial."""
    options = ["--instruction", "x", "--workspace", str(work / "start"), "--env", "local"]
    model = script(work, *turns, SUBMIT)
    process = subprocess.Popen(
        [*AGENT, "solve", *options, "--model", model],
        cwd=work,
        env=environment(work),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    until = time.monotonic() + 60
    while not any(when in path.read_text() for path in work.glob("runs/*/*/events.jsonl")):
        assert time.monotonic() < until
        time.sleep(0.002)
    time.sleep(0.1)
    process.kill()
    process.wait()
    return next(work.glob("runs/*/*/events.jsonl")).parent


def test_a_command_without_an_end_is_not_replayed_and_is_reported(work: Path) -> None:
    trial = killed(work, "echo a >a", ["echo b >a", "sleep 60"], when='"action":"2.2"')
    report = replay(work, trial)
    assert report["not_replayed"] == ["2.2"]
    assert (report["actions"], report["outputs_identical"]) == (2, 2)
    assert replay(work, trial, "--strict", status=1)["divergences"] == []


def test_a_resumed_trial_replays(work: Path) -> None:
    trial = killed(work, "echo a >>a", ["echo b >>a", "sleep 2; echo c >>a"], "cat a", when='"action":"2.2"')
    assert agent(work, "resume", str(trial)).status == 0
    report = replay(work, trial, "--strict")
    assert (report["actions"], report["not_replayed"], report["workspace_equal"]) == (4, [], True)


def test_a_forked_trial_replays_from_its_branch_point(work: Path) -> None:
    parent = solve(work, "echo a >a", "echo b >>a")
    result = agent(work, "fork", str(parent), "--at", "1", "--model", script(work, "-", "cat a >c", SUBMIT), "--json")
    assert result.status == 0, result.err
    report = replay(work, result.trial, "--strict")
    assert (report["actions"], report["workspace_equal"]) == (1, True)


def test_a_start_directory_that_is_gone_is_restored_from_the_record(work: Path) -> None:
    trial = solve(work, "cat given")
    os.rename(work / "start", work / "moved")
    assert replay(work, trial)["outputs_identical"] == 1


def test_only_volatile_files_of_git_are_not_compared(work: Path) -> None:
    trial = solve(
        work,
        "git init -q . && git config user.email a@b && git config user.name a && git add -A "
        "&& GIT_AUTHOR_DATE='2020-01-01T00:00:00Z' GIT_COMMITTER_DATE='2020-01-01T00:00:00Z' git commit -qm x; "
        "rm -r .git/logs",
        "mkdir -p not.git; date +%N >not.git/index",
    )
    report = replay(work, trial)
    assert report["not_compared"] == [".git/index"]
    assert report["workspace_differences"] == ["not.git/index"]


def test_large_output_is_compared_byte_by_byte(work: Path) -> None:
    trial = solve(work, "seq 2000000", "seq 1999999; date +%N")
    report = replay(work, trial)
    assert report["outputs_identical"] == 1
    assert classes(report) == {"2.1": "output"}
    assert "they part at byte" in report["divergences"][0]["detail"]


def test_the_text_report_names_the_cause(work: Path) -> None:
    result: CommandResult = agent(work, "replay", str(solve(work, "date +%N >stamp")))
    assert result.status == 0
    assert "first causal difference: 1.1 (workspace)" in result.out
    assert json.dumps("stamp")[1:-1] in result.out


def test_the_report_is_kept_and_shown_with_the_trial(work: Path) -> None:
    trial = solve(work, "date +%N >stamp")
    report = replay(work, trial)
    (kept,) = agent(work, "show", str(trial), "--json").json["replays"]
    assert (kept["environment"], kept["actions"], kept["first_causal"]) == ("local", 1, "1.1")
    assert kept["file"] == report["file"]
    assert json.loads((work / report["file"]).read_text())["report"]["divergences"] == report["divergences"]
    shown = agent(work, "show", str(trial)).out
    assert "(local): 1 of 1 exit code equal; 1 outputs identical" in shown


def test_an_interrupted_replay_keeps_no_report(work: Path) -> None:
    again, runs_now = work / "again", work / "runs-now"
    trial = solve(work, f"if [ -e {again} ]; then touch {runs_now}; sleep 60; fi")
    again.touch()
    argv = [*AGENT, "replay", str(trial)]
    process = subprocess.Popen(argv, cwd=work, env=environment(work), stderr=subprocess.PIPE, text=True)
    while not runs_now.exists():
        assert process.poll() is None, process.communicate()
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=60)
    assert process.returncode == 130
    assert not (trial / "replays").exists()


def test_names_of_files_reach_the_terminal_only_made_safe(work: Path) -> None:
    trial = solve(work, "date +%s%N > $'t\\033[2J'")
    result = agent(work, "replay", str(trial))
    assert result.status == 0, result.err
    assert "t␛[2J" in result.err
    assert "t␛[2J" in result.out
    assert "\x1b" not in result.out + result.err
