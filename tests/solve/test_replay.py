"""`agent replay`: what comes again, what does not, by name, and where it matters."""

from __future__ import annotations

import json
import os
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
]


@pytest.fixture
def work(tmp_path: Path) -> Path:
    (tmp_path / "start").mkdir()
    (tmp_path / "start" / "given").write_text("given\n")
    return tmp_path


def solve(work: Path, *turns: Any, kind: str = "local", limits: tuple[str, ...] = ()) -> Path:
    if kind == "docker":
        where = ["--task", "demo/ledger", "--no-evaluate"]
    else:
        where = ["--instruction", "x", "--workspace", str(work / "start")]
    done = agent(work, "solve", *where, "--env", kind, "--model", script(work, *turns, SUBMIT), *limits, "--json")
    assert done.status == 0, done.err
    return done.trial


def replay(work: Path, trial: Path, *argv: str, status: int = 0) -> Any:
    done = agent(work, "replay", str(trial), *argv, "--json")
    assert done.status == status, done.err
    assert "Traceback" not in done.err
    return done.json


def classes(found: Any) -> dict[str, str]:
    return {one["action"]: one["class"] for one in found["divergences"]}


@pytest.mark.parametrize("kind", KINDS)
def test_what_repeats_is_identical(work: Path, kind: str) -> None:
    trial = solve(
        work,
        "echo one >log; ln -s log link; mkdir -p d/e; chmod 600 log",
        ["cat log", "rm link; exit 3", "kill -9 $$"],
        "head -c 300000 /dev/urandom >/dev/null; seq 60000",
        "printf 'a\\000\\377b'",
        kind=kind,
    )
    found = replay(work, trial, "--strict")
    assert list(found) == KEYS
    assert found["actions"] == found["returncodes_equal"] == found["outputs_identical"] == 6
    assert found["outputs_equal_normalized"] == 6
    assert (found["divergences"], found["first_causal"], found["workspace_equal"]) == ([], None, True)
    assert found["notes"] == found["not_replayed"] == []


@pytest.mark.parametrize("kind", KINDS)
def test_what_does_not_repeat_is_named(work: Path, kind: str) -> None:
    trial = solve(
        work,
        "date +%s.%N",
        "mktemp -u",
        "echo $RANDOM$RANDOM$RANDOM",
        "exit $((RANDOM % 200 + 1))",
        "echo same",
        kind=kind,
    )
    found = replay(work, trial, "--strict", status=1)
    named = classes(found)
    assert (named["1.1"], named["2.1"], named["3.1"]) == ("times", "temporary names", "output")
    assert named.get("4.1", "exit code") == "exit code"  # one in 200 times it is the same
    assert "5.1" not in named
    assert found["actions"] == 5
    assert found["outputs_identical"] == 2
    assert found["outputs_equal_normalized"] == 4
    assert found["first_causal"] is None
    assert found["workspace_equal"] is True


@pytest.mark.parametrize("kind", KINDS)
def test_the_action_after_which_the_workspace_differs_is_the_causal_one(work: Path, kind: str) -> None:
    trial = solve(
        work,
        "date +%N",
        ["echo a >a", "date +%N >stamp", "date +%N", "echo b >b"],
        "cat stamp; cp stamp other",
        kind=kind,
    )
    found = replay(work, trial)
    assert found["first_causal"]["action"] == "2.2"
    assert "stamp" in found["first_causal"]["detail"]
    assert found["workspace_equal"] is False
    assert found["workspace_differences"] == ["other", "stamp"]
    by_action = [(one["action"], one["class"]) for one in found["divergences"]]
    assert ("2.2", "workspace") in by_action
    assert ("3.1", "workspace") in by_action


def test_another_initial_file_shows_where_it_is_used(work: Path) -> None:
    trial = solve(work, "echo unrelated", "wc -c <given >size", "cat size")
    other = work / "other"
    other.mkdir()
    (other / "given").write_text("given and more\n")
    found = replay(work, trial, "--workspace", str(other))
    assert any("from the beginning" in note and "given" in note for note in found["notes"])
    assert found["first_causal"]["action"] == "2.1"
    assert "size" in found["first_causal"]["detail"]
    assert classes(found)["3.1"] == "output"
    assert found["workspace_differences"] == ["given", "size"]


def test_a_difference_that_vanishes_is_told_and_the_end_is_equal(work: Path) -> None:
    found = replay(work, solve(work, "date +%N >stamp", "rm stamp"))
    assert found["first_causal"]["action"] == "1.1"
    assert found["workspace_equal"] is True


def test_a_deadline_comes_again(work: Path) -> None:
    trial = solve(work, "echo before; sleep 30; echo after", limits=("--command-timeout", "1s"))
    found = replay(work, trial, "--strict")
    assert (found["actions"], found["returncodes_equal"], found["outputs_identical"]) == (1, 1, 1)


def test_other_output_at_the_deadline_has_its_class(work: Path) -> None:
    trial = solve(work, "date +%N | tr 0-9 a-j; sleep 30", limits=("--command-timeout", "1s"))
    assert classes(replay(work, trial)) == {"1.1": "cut at the deadline"}


@pytest.mark.parametrize("suffix", ["tar", "tar.gz"])
def test_an_archive_as_the_beginning(work: Path, suffix: str) -> None:
    trial = solve(work, "cat given >copy")
    path = work / f"start.{suffix}"
    with tarfile.open(path, "w:gz" if suffix == "tar.gz" else "w") as archive:
        archive.add(work / "start" / "given", "given")
    assert replay(work, trial, "--workspace", str(path), "--strict")["workspace_equal"] is True


def test_the_exported_workspace_as_the_beginning(work: Path) -> None:
    trial = solve(work, "cat given >copy")
    found = replay(work, trial, "--workspace", str(trial / "workspace.tar.zst"))
    assert any("copy" in note for note in found["notes"])


@pytest.mark.docker
def test_the_shell_is_the_recorded_one_whatever_the_beginning(work: Path) -> None:
    place = ["--instruction", "x", "--workspace", str(work / "start"), "--env", "local", "--shell", "persistent"]
    turns = ["mkdir -p deep; cd deep; here=1", 'echo "$here" >f; cat f', SUBMIT]
    trial = agent(work, "solve", *place, "--model", script(work, *turns), "--json").trial
    found = agent(work, "replay", str(trial), "--env", "local", "--workspace", str(work / "start"), "--json")
    assert found.status == 0, found.err
    assert (found.json["outputs_identical"], found.json["actions"], found.json["workspace_equal"]) == (2, 2, True)


def test_another_image(work: Path, workbench_image: str) -> None:
    trial = solve(work, "echo a >a; cat a", kind="docker")
    found = replay(work, trial, "--image", workbench_image)
    assert (found["actions"], found["outputs_identical"], found["workspace_equal"]) == (1, 1, True)


def test_only_the_first_steps(work: Path) -> None:
    trial = solve(work, "echo 1 >a", "echo 2 >a", "date +%N >a")
    found = replay(work, trial, "--to", "2", "--strict")
    assert (found["actions"], found["workspace_equal"]) == (2, True)
    assert replay(work, trial)["workspace_equal"] is False


@pytest.mark.parametrize(
    ("argv", "said"),
    [
        (("--to", "9"), "--to 9"),
        (("--workspace", "nowhere"), "nowhere"),
        (("--workspace", "start/given"), "neither a directory nor a whole tar"),
        (("--workspace", "climbing.tar"), "escapes the workspace"),
        (("--env", "moon"), "moon"),
        (("--image", "x", "--env", "local"), "--image"),
    ],
)
def test_bad_values(work: Path, argv: tuple[str, ...], said: str) -> None:
    with tarfile.open(work / "climbing.tar", "w") as archive:
        archive.add(work / "start" / "given", "../../climbed")
    done = agent(work, "replay", str(solve(work, "true")), *argv)
    assert done.status == 2, done.err
    assert said in done.err
    assert len(done.err.strip().splitlines()) == 1


def killed(work: Path, *turns: Any, when: str) -> Path:
    argv = ["--instruction", "x", "--workspace", str(work / "start"), "--env", "local"]
    model = script(work, *turns, SUBMIT)
    process = subprocess.Popen(
        [*AGENT, "solve", *argv, "--model", model],
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


def test_a_command_without_an_end_is_not_replayed_and_said(work: Path) -> None:
    trial = killed(work, "echo a >a", ["echo b >a", "sleep 60"], when='"action":"2.2"')
    found = replay(work, trial)
    assert found["not_replayed"] == ["2.2"]
    assert (found["actions"], found["outputs_identical"]) == (2, 2)


def test_a_resumed_trial_replays(work: Path) -> None:
    trial = killed(work, "echo a >>a", ["echo b >>a", "sleep 2; echo c >>a"], "cat a", when='"action":"2.2"')
    assert agent(work, "resume", str(trial)).status == 0
    found = replay(work, trial, "--strict")
    assert (found["actions"], found["not_replayed"], found["workspace_equal"]) == (4, [], True)


def test_a_forked_trial_replays_from_its_branch_point(work: Path) -> None:
    parent = solve(work, "echo a >a", "echo b >>a")
    done = agent(work, "fork", str(parent), "--at", "1", "--model", script(work, "-", "cat a >c", SUBMIT), "--json")
    assert done.status == 0, done.err
    found = replay(work, done.trial, "--strict")
    assert (found["actions"], found["workspace_equal"]) == (1, True)


def test_a_workspace_that_is_gone_is_brought_back_by_the_record(work: Path) -> None:
    trial = solve(work, "cat given")
    os.rename(work / "start", work / "moved")
    assert replay(work, trial)["outputs_identical"] == 1


def test_volatile_files_of_git_are_named_and_only_they(work: Path) -> None:
    trial = solve(
        work,
        "git init -q . && git config user.email a@b && git config user.name a && git add -A "
        "&& GIT_AUTHOR_DATE='2020-01-01T00:00:00Z' GIT_COMMITTER_DATE='2020-01-01T00:00:00Z' git commit -qm x; "
        "rm -r .git/logs",
        "mkdir -p not.git; date +%N >not.git/index",
    )
    found = replay(work, trial)
    assert found["not_compared"] == [".git/index"]
    assert found["workspace_differences"] == ["not.git/index"]


def test_huge_output_is_compared_to_the_byte(work: Path) -> None:
    trial = solve(work, "seq 2000000", "seq 1999999; date +%N")
    found = replay(work, trial)
    assert found["outputs_identical"] == 1
    assert classes(found) == {"2.1": "output"}
    assert "they part at byte" in found["divergences"][0]["detail"]


def test_the_text_report_names_the_cause(work: Path) -> None:
    done: CommandResult = agent(work, "replay", str(solve(work, "date +%N >stamp")))
    assert done.status == 0
    assert "first causal difference: 1.1 (workspace)" in done.out
    assert json.dumps("stamp")[1:-1] in done.out
