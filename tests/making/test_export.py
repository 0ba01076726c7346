"""`agent tasks export` writes a task that our own Harbor family reads, and refuses what Harbor cannot express."""

from __future__ import annotations

import subprocess
import tomllib
from dataclasses import replace
from pathlib import Path

import pytest

from agent.errors import UserError
from agent.making.export.dockerfile import with_defaults
from agent.making.export.harbor import export
from agent.making.export.inside import judge
from agent.making.new import new_task
from benchmarks.task.registry import resolve_task
from environments.leftovers.owner import this_process
from tests.solve.command import agent


def edited(task: Path, before: str, after: str) -> None:
    file = task / "task.yaml"
    text = file.read_text()
    assert before in text
    file.write_text(text.replace(before, after))


@pytest.fixture
def task(tmp_path: Path) -> Path:
    new_task(tmp_path / "sums", "retrace")
    return tmp_path / "sums"


def test_an_export_is_a_task_of_harbor_with_the_same_conditions(task: Path, tmp_path: Path) -> None:
    left_out = export(resolve_task(str(task))[1], tmp_path / "out")
    assert left_out == ("limits.steps", "resources.pids")
    exported = resolve_task(str(tmp_path / "out"))[1]
    original = resolve_task(str(task))[1]
    assert exported.instruction == original.instruction
    assert (exported.spec.cpus, exported.spec.memory_bytes) == (original.spec.cpus, original.spec.memory_bytes)
    assert (exported.spec.user, exported.spec.network) == ("agent", False)
    assert exported.limits.time_s == original.limits.time_s
    content = tomllib.loads((tmp_path / "out" / "task.toml").read_text())
    assert content["verifier"]["environment_mode"] == "separate"
    assert content["task"]["name"] == "retrace/sums"
    image = {path.name for path in (tmp_path / "out" / "environment").rglob("*")}
    assert image == {"Dockerfile", "retrace-workspace", "example.txt"}, "neither the suite nor the solution"
    lines = (tmp_path / "out" / "environment" / "Dockerfile").read_text().splitlines()
    users = [line for line in lines if line.startswith("USER ")]
    assert users[-1] == "USER root", "the judge kills the agent's processes, and Harbor's container must live on"
    assert content["agent"]["user"] == "agent"


@pytest.mark.parametrize(
    ("before", "after", "message"),
    [
        ("environments: [docker, sandbox, local]", "environments: [sandbox]", "environments: Harbor needs docker"),
        ("pids: 256", "pids: 256, shm: 64m", "resources.shm: Harbor has no such setting"),
        ("pids: 256", "pids: 256, ulimits: {nofile: 64}", "resources.ulimits: Harbor has no such setting"),
        ("language: Python", "env: {A: '${HOME}'}", "env.A: Harbor replaces ${...}"),
        ("{context: image}", "{context: image, args: {OTHER: x}}", "image.build.args: OTHER: no line `ARG OTHER`"),
    ],
)
def test_what_harbor_cannot_express_is_refused_by_name(
    task: Path, tmp_path: Path, before: str, after: str, message: str
) -> None:
    edited(task, before, after)
    with pytest.raises(UserError) as raised:
        export(resolve_task(str(task))[1], tmp_path / "out")
    assert message in str(raised.value)
    assert list((tmp_path / "out").rglob("*")) == []


def test_only_a_task_of_our_own_goes_into_an_empty_directory(task: Path, tmp_path: Path) -> None:
    new_task(tmp_path / "other", "harbor")
    with pytest.raises(UserError, match="not a task directory in our own format"):
        export(resolve_task(str(tmp_path / "other"))[1], tmp_path / "out")
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "notes").touch()
    with pytest.raises(UserError, match="mine: is not an empty directory"):
        export(resolve_task(str(task))[1], tmp_path / "mine")


def test_a_failed_export_leaves_nothing_and_the_next_one_removes_what_a_killed_one_left(
    task: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(source: Path, to: Path) -> None:
        raise OSError(28, "No space left on device")

    resolved = resolve_task(str(task))[1]
    with monkeypatch.context() as patch:
        patch.setattr("agent.making.export.dockerfile.write_context", fail)
        with pytest.raises(OSError, match="No space"):
            export(resolved, tmp_path / "folder" / "out")
    assert list((tmp_path / "folder").iterdir()) == []
    with subprocess.Popen(["true"]) as ended:
        killed = replace(this_process(), pid=ended.pid, start=1)
    for owner in (killed, this_process()):
        (tmp_path / "folder" / f".export-{owner.prefix}x" / "tests").mkdir(parents=True)
    export(resolved, tmp_path / "folder" / "out")
    left = {path.name for path in (tmp_path / "folder").iterdir()}
    assert left == {"out", f".export-{this_process().prefix}x"}


def test_build_arguments_become_defaults_with_every_character() -> None:
    text = with_defaults("ARG A\nARG B=old\nFROM x\nARG A\n", {"A": 'a "b" $c \\1', "B": "new"})
    assert text == 'ARG A="a \\"b\\" \\$c \\\\1"\nARG B="new"\nFROM x\nARG A="a \\"b\\" \\$c \\\\1"\n'


def test_copies_of_withheld_files_are_removed_under_any_name(tmp_path: Path) -> None:
    (tmp_path / "deep").mkdir()
    (tmp_path / "deep" / "copy").write_bytes(b"original")
    (tmp_path / "other").write_bytes(b"ORIGINAL")
    (tmp_path / "link").symlink_to("deep/copy")
    judge.remove_copies(tmp_path, {8: {judge.digest(tmp_path / "deep" / "copy")}})
    assert sorted(path.name for path in tmp_path.iterdir()) == ["deep", "link", "other"]
    assert list((tmp_path / "deep").iterdir()) == []


@pytest.mark.docker
@pytest.mark.parametrize(("model", "quality"), [("oracle", 1.0), ("nop", 0.0)])
def test_the_verifier_of_an_export_gives_the_reward_of_the_suite(
    task: Path, tmp_path: Path, model: str, quality: float
) -> None:
    result = agent(tmp_path, "tasks", "export", "sums", "--format", "harbor", "--output", "out", "--json")
    assert result.json["left_out"] == ["limits.steps", "resources.pids"], result.err
    verdict = agent(tmp_path, "solve", "--task", "out", "--model", model, "--json").json["verdict"]
    assert verdict["status"] == "scored", verdict
    assert verdict["quality"] == quality
