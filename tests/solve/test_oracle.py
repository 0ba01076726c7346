"""`--model oracle` solves the demos, `--model nop` does not; their trials support everything that others do."""

from __future__ import annotations

import hashlib
import os
import shutil
from pathlib import Path

import pytest

import benchmarks
from agent.loop.actions import SUBMIT
from agent.models.free.oracle import PLACED
from benchmarks.task.directory import TaskDirectories
from benchmarks.task.registry import benchmark
from tests.solve.command import agent, script
from tests.solve.test_resume import killed
from trajectories.reading.reader import read_events
from trajectories.record.events import ActionFinished, Exited, Resumed

DOCKER = pytest.param("docker", marks=pytest.mark.docker)
SANDBOX = pytest.param("sandbox", marks=pytest.mark.sandbox)
SOLVED = ("cronwhen", "ledger", "spans")
NOP = {"cronwhen": 32 / 60, "ledger": 0.0, "spans": 0.0}
"""Quality of each demo's untouched workspace."""
CASES = [(id, kind) for id in SOLVED for kind in (DOCKER, SANDBOX, "local") if kind is DOCKER or id != "spans"]


def parametrized(cases: list[tuple[str, object]]) -> list[object]:
    """Return parameters of pytest, with the marks of the environments."""
    parameters = []
    for id, kind in cases:
        value, marks = (kind, ()) if isinstance(kind, str) else (kind.values[0], kind.marks)  # type: ignore[attr-defined]
        parameters.append(pytest.param(id, value, marks=marks, id=f"{id}-{value}"))
    return parameters


EVERY_DEMO = pytest.mark.parametrize(("id", "kind"), parametrized(CASES))


@EVERY_DEMO
def test_the_oracle_solves_the_demo(id: str, kind: str, tmp_path: Path) -> None:
    result = agent(tmp_path, "solve", "--task", f"demo/{id}", "--env", kind, "--model", "oracle", "--json")
    assert result.status == 0, result.err
    assert (result.json["exit"]["cause"], result.json["steps"], result.json["commands"]) == ("submitted", 2, 1)
    assert result.json["verdict"]["passed"] is True
    assert result.json["verdict"]["quality"] == 1.0
    assert set(result.json["cost_usd"].values()) == {0.0}
    assert agent(tmp_path, "show", str(result.trial), "--check").status == 0


@EVERY_DEMO
def test_a_model_that_does_nothing_scores_the_untouched_workspace(id: str, kind: str, tmp_path: Path) -> None:
    result = agent(tmp_path, "solve", "--task", f"demo/{id}", "--env", kind, "--model", "nop", "--json")
    assert result.status == 0, result.err
    assert (result.json["exit"]["cause"], result.json["steps"], result.json["commands"]) == ("submitted", 1, 0)
    assert result.json["verdict"]["passed"] is False
    assert result.json["verdict"]["quality"] == pytest.approx(NOP[id])


def test_these_demos_have_a_solution() -> None:
    demos = benchmark("demo")
    assert tuple(id for id in demos.ids() if demos.load(id).solution) == SOLVED


def test_the_oracle_rejects_a_task_without_a_solution_before_anything_starts(tmp_path: Path) -> None:
    result = agent(tmp_path, "solve", "--task", "demo/figlet", "--model", "oracle", "--json")
    assert (result.status, result.out) == (2, "")
    (line,) = result.err.splitlines()
    assert "demo/figlet has no solution of its own" in line
    assert not (tmp_path / "runs").exists()
    (tmp_path / "start").mkdir()
    result = agent(tmp_path, "solve", "--instruction", "x", "--workspace", "start", "--model", "oracle")
    assert (result.status, len(result.err.splitlines())) == (2, 1)


def test_an_oracle_s_trial_is_replayed_forked_and_exported(tmp_path: Path) -> None:
    solved = agent(tmp_path, "solve", "--task", "demo/ledger", "--env", "local", "--model", "oracle", "--json")
    replayed = agent(tmp_path, "replay", str(solved.trial), "--json")
    assert replayed.status == 0, replayed.err
    assert (replayed.json["actions"], replayed.json["outputs_identical"]) == (1, 1)
    assert replayed.json["workspace_equal"] is True
    forked = agent(tmp_path, "fork", str(solved.trial), "--at", "1", "--json")
    assert forked.status == 0, forked.err
    assert (forked.json["steps"], forked.json["verdict"]["quality"]) == (1, 1.0)
    exported = agent(tmp_path, "export", str(solved.trial), "--format", "mini", "--output", "out.json")
    assert exported.status == 0, exported.err
    assert PLACED in (tmp_path / "out.json").read_text()


def test_a_fork_with_the_oracle_finishes_the_trial_of_another_model(tmp_path: Path) -> None:
    model = script(tmp_path, "echo begun >log", "echo more >>log")
    begun = agent(tmp_path, "solve", "--task", "demo/ledger", "--env", "local", "--model", model, "--json")
    assert begun.json["verdict"]["quality"] == 0.0
    forked = agent(tmp_path, "fork", str(begun.trial), "--at", "1", "--model", "oracle", "--json")
    assert forked.status == 0, forked.err
    assert (forked.json["steps"], forked.json["verdict"]["quality"]) == (2, 1.0)
    assert agent(tmp_path, "show", str(forked.trial), "--check").status == 0


@pytest.fixture
def large(tmp_path: Path) -> Path:
    """The directory of a task whose solution takes many commands."""
    directory = tmp_path / "large"
    directory.mkdir()
    (directory / "task.yaml").write_text("title: T\nkind: test\nenvironments: [sandbox, local]\n")
    (directory / "instruction.md").write_text("Do it.")
    (directory / "solution").mkdir()
    (directory / "solution" / "data").write_bytes(os.urandom(6 << 20))
    return directory


def test_a_large_solution_is_continued_after_its_harness_was_killed(large: Path, tmp_path: Path) -> None:
    options = ("--task", str(large), "--env", "local", "--model", "oracle")
    trial = killed(tmp_path, *options, when='"snapshot","step":4,')
    result = agent(tmp_path, "resume", str(trial), "--json")
    assert result.status == 0, result.err
    assert any(isinstance(event, Resumed) for event in result.events)
    assert (result.json["exit"]["cause"], result.json["steps"]) == ("submitted", 35)
    assert agent(tmp_path, "checkout", str(trial), "out").status == 0
    assert {path.name for path in (tmp_path / "out").iterdir()} == {"data"}
    assert (tmp_path / "out/data").read_bytes() == (large / "solution/data").read_bytes()


def test_a_trial_is_not_resumed_with_a_changed_solution(large: Path, tmp_path: Path) -> None:
    options = ("--task", str(large), "--env", "local", "--model", "oracle")
    trial = killed(tmp_path, *options, when='"snapshot","step":4,')
    assert not any(isinstance(event, Exited) for event in read_events(trial))
    (large / "solution" / "data").write_text("other")
    result = agent(tmp_path, "resume", str(trial))
    assert result.status == 2
    assert "the model oracle has changed" in result.err


def test_workspace_image_and_digest_of_a_task_do_not_contain_its_solution(tmp_path: Path) -> None:
    demos = benchmark("demo")
    for id in SOLVED:
        task = demos.load(id)
        assert task.directory is not None
        assert task.solution is not None
        contents = {path.read_bytes() for path in task.solution.rglob("*") if path.is_file()}
        visible = [task.directory / "workspace", *([task.spec.build.context] if task.spec.build else [])]
        assert not contents & {path.read_bytes() for at in visible for path in at.rglob("*") if path.is_file()}
        copy = tmp_path / "copy" / "demos" / "tasks" / id
        shutil.copytree(task.directory, copy)
        shutil.copytree(
            Path(benchmarks.__file__).parent / "demos/workbench", copy.parents[1] / "workbench", dirs_exist_ok=True
        )
        shutil.rmtree(copy / "solution")
        within = copy.parents[2]
        assert TaskDirectories("demo", copy.parent, within).load(id).digest == task.digest


@pytest.mark.parametrize("kind", [DOCKER, SANDBOX])
def test_a_command_of_the_agent_cannot_find_the_solution(kind: str, tmp_path: Path) -> None:
    solution = benchmark("demo").load("ledger").solution
    assert solution is not None
    data = (solution / "ledger.py").read_bytes()
    find = f"find / \\( -path /proc -o -path /sys \\) -prune -o -type f -size {len(data)}c -print0 2>/dev/null"
    command = f"ls -A; {find} | xargs -0r sha256sum | grep {hashlib.sha256(data).hexdigest()}"
    options = ("--task", "demo/ledger", "--env", kind, "--no-evaluate", "--json")
    result = agent(tmp_path, "solve", *options, "--model", script(tmp_path, command, SUBMIT))
    assert [event.output.text for event in result.events if isinstance(event, ActionFinished)] == [""]
    solved = agent(tmp_path, "fork", str(result.trial), "--at", "0", "--model", "oracle", "--no-evaluate", "--json")
    model = script(tmp_path, "the reply of the parent is used here", command, SUBMIT)
    control = agent(tmp_path, "fork", str(solved.trial), "--at", "1", "--model", model, "--no-evaluate", "--json")
    (output,) = [event.output.text for event in control.events if isinstance(event, ActionFinished)]
    assert output.splitlines()[:2] == ["compile.sh", "ledger.py"]  # the command finds a solution that is there
    assert output.rstrip().endswith("/ledger.py")


def test_the_list_of_models_names_the_free_models(tmp_path: Path) -> None:
    result = agent(tmp_path, "models", "list", "--json")
    assert {"oracle", "nop", "human"} <= set(result.json["free"])
    assert "oracle" in agent(tmp_path, "models", "list").err
    assert agent(tmp_path, "tasks", "show", "ledger", "--json").json["solution"] is True
    assert agent(tmp_path, "tasks", "show", "demo/figlet", "--json").json["solution"] is False
