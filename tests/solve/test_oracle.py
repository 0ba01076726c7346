"""`--model oracle` and `--model nop` on the demos: 1 and less; their trials are trials like any other."""

from __future__ import annotations

import hashlib
import json
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
from trajectories.record.events import ActionFinished, Event, Exited, Resumed

DOCKER = pytest.param("docker", marks=pytest.mark.docker)
SANDBOX = pytest.param("sandbox", marks=pytest.mark.sandbox)
SOLVED = ("cronwhen", "ledger", "spans")
NOP = {"cronwhen": 32 / 60, "ledger": 0.0, "spans": 0.0}
"""What the demos' untouched workspaces are worth."""
CASES = [(id, kind) for id in SOLVED for kind in (DOCKER, SANDBOX, "local") if kind is DOCKER or id != "spans"]


def parametrized(cases: list[tuple[str, object]]) -> list[object]:
    made = []
    for id, kind in cases:
        value, marks = (kind, ()) if isinstance(kind, str) else (kind.values[0], kind.marks)  # type: ignore[attr-defined]
        made.append(pytest.param(id, value, marks=marks, id=f"{id}-{value}"))
    return made


ONE_EACH = pytest.mark.parametrize(("id", "kind"), parametrized(CASES))


@ONE_EACH
def test_the_oracle_solves(id: str, kind: str, tmp_path: Path) -> None:
    done = agent(tmp_path, "solve", "--task", f"demo/{id}", "--env", kind, "--model", "oracle", "--json")
    assert done.status == 0, done.err
    assert (done.json["exit"]["cause"], done.json["steps"], done.json["commands"]) == ("submitted", 2, 1)
    assert done.json["verdict"]["passed"] is True
    assert done.json["verdict"]["quality"] == 1.0
    assert set(done.json["cost_usd"].values()) == {0.0}
    assert agent(tmp_path, "show", str(done.trial), "--check").status == 0


@ONE_EACH
def test_nothing_is_worth_less(id: str, kind: str, tmp_path: Path) -> None:
    done = agent(tmp_path, "solve", "--task", f"demo/{id}", "--env", kind, "--model", "nop", "--json")
    assert done.status == 0, done.err
    assert (done.json["exit"]["cause"], done.json["steps"], done.json["commands"]) == ("submitted", 1, 0)
    assert done.json["verdict"]["passed"] is False
    assert done.json["verdict"]["quality"] == pytest.approx(NOP[id])


def test_the_demos_that_have_a_solution_are_these() -> None:
    demos = benchmark("demo")
    assert tuple(id for id in demos.ids() if demos.load(id).solution) == SOLVED


def test_a_task_without_a_solution_is_refused_before_anything_starts(tmp_path: Path) -> None:
    done = agent(tmp_path, "solve", "--task", "demo/figlet", "--model", "oracle", "--json")
    assert (done.status, done.out) == (2, "")
    (line,) = done.err.splitlines()
    assert "demo/figlet has no solution of its own" in line
    assert not (tmp_path / "runs").exists()
    (tmp_path / "start").mkdir()
    done = agent(tmp_path, "solve", "--instruction", "x", "--workspace", "start", "--model", "oracle")
    assert (done.status, len(done.err.splitlines())) == (2, 1)


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


def test_another_model_s_trial_is_finished_by_the_oracle(tmp_path: Path) -> None:
    model = script(tmp_path, "echo begun >log", "echo more >>log")
    begun = agent(tmp_path, "solve", "--task", "demo/ledger", "--env", "local", "--model", model, "--json")
    assert begun.json["verdict"]["quality"] == 0.0
    forked = agent(tmp_path, "fork", str(begun.trial), "--at", "1", "--model", "oracle", "--json")
    assert forked.status == 0, forked.err
    assert (forked.json["steps"], forked.json["verdict"]["quality"]) == (2, 1.0)
    assert agent(tmp_path, "show", str(forked.trial), "--check").status == 0


@pytest.fixture
def large(tmp_path: Path) -> Path:
    """A task whose solution takes many commands."""
    directory = tmp_path / "large"
    directory.mkdir()
    (directory / "task.yaml").write_text("title: T\nkind: test\nenvironments: [sandbox, local]\n")
    (directory / "instruction.md").write_text("Do it.")
    (directory / "solution").mkdir()
    (directory / "solution" / "data").write_bytes(os.urandom(6 << 20))
    return directory


def test_a_large_solution_goes_on_after_its_harness_was_killed(large: Path, tmp_path: Path) -> None:
    options = ("--task", str(large), "--env", "local", "--model", "oracle")
    trial = killed(tmp_path, *options, when='"snapshot","step":4,')
    done = agent(tmp_path, "resume", str(trial), "--json")
    assert done.status == 0, done.err
    assert any(isinstance(event, Resumed) for event in done.events)
    assert (done.json["exit"]["cause"], done.json["steps"]) == ("submitted", 35)
    assert agent(tmp_path, "checkout", str(trial), "out").status == 0
    assert {path.name for path in (tmp_path / "out").iterdir()} == {"data"}
    assert (tmp_path / "out/data").read_bytes() == (large / "solution/data").read_bytes()


def test_a_trial_does_not_go_on_with_another_solution(large: Path, tmp_path: Path) -> None:
    options = ("--task", str(large), "--env", "local", "--model", "oracle")
    trial = killed(tmp_path, *options, when='"snapshot","step":4,')
    assert not any(isinstance(event, Exited) for event in _events(trial))
    (large / "solution" / "data").write_text("other")
    done = agent(tmp_path, "resume", str(trial))
    assert done.status == 2
    assert "the model oracle has changed" in done.err


def test_no_place_that_a_model_sees_holds_a_solution(tmp_path: Path) -> None:
    """Neither the workspace it begins with nor the image's build context; and the digest does not count it."""
    demos = benchmark("demo")
    for id in SOLVED:
        task = demos.load(id)
        assert task.directory is not None
        assert task.solution is not None
        contents = {path.read_bytes() for path in task.solution.rglob("*") if path.is_file()}
        seen = [task.directory / "workspace", *([task.spec.build.context] if task.spec.build else [])]
        assert not contents & {path.read_bytes() for at in seen for path in at.rglob("*") if path.is_file()}
        copy = tmp_path / "copy" / "demos" / "tasks" / id
        shutil.copytree(task.directory, copy)
        shutil.copytree(
            Path(benchmarks.__file__).parent / "demos/workbench", copy.parents[1] / "workbench", dirs_exist_ok=True
        )
        shutil.rmtree(copy / "solution")
        within = copy.parents[2]
        assert TaskDirectories("demo", copy.parent, within).load(id).digest == task.digest


@pytest.mark.parametrize("kind", [DOCKER, SANDBOX])
def test_nothing_of_a_solution_is_in_a_trial_s_reach(kind: str, tmp_path: Path) -> None:
    solution = benchmark("demo").load("ledger").solution
    assert solution is not None
    data = (solution / "ledger.py").read_bytes()
    find = f"find / \\( -path /proc -o -path /sys \\) -prune -o -type f -size {len(data)}c -print0 2>/dev/null"
    look = f"ls -A; {find} | xargs -0r sha256sum | grep {hashlib.sha256(data).hexdigest()}"
    where = ("--task", "demo/ledger", "--env", kind, "--no-evaluate", "--json")
    done = agent(tmp_path, "solve", *where, "--model", script(tmp_path, look, SUBMIT))
    assert [event.output.text for event in done.events if isinstance(event, ActionFinished)] == [""]
    found = agent(tmp_path, "fork", str(done.trial), "--at", "0", "--model", "oracle", "--no-evaluate", "--json")
    look = script(tmp_path, "the parent said something else", look, SUBMIT)
    found = agent(tmp_path, "fork", str(found.trial), "--at", "1", "--model", look, "--no-evaluate", "--json")
    (shown,) = [event.output.text for event in found.events if isinstance(event, ActionFinished)]
    assert shown.splitlines()[:2] == ["compile.sh", "ledger.py"]  # this would find it
    assert shown.rstrip().endswith("/ledger.py")


def _events(trial: Path) -> list[Event]:
    return list(read_events(trial))


def test_the_list_of_models_names_what_costs_nothing(tmp_path: Path) -> None:
    done = agent(tmp_path, "models", "list", "--json")
    assert {"oracle", "nop", "human"} <= set(done.json["free"])
    assert "oracle" in agent(tmp_path, "models", "list").err
    shown = json.loads(agent(tmp_path, "tasks", "show", "ledger", "--json").out)
    assert shown["solution"] is True
    assert json.loads(agent(tmp_path, "tasks", "show", "demo/figlet", "--json").out)["solution"] is False
