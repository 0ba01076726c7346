"""The models `oracle`, whose commands are run by a real bash, and `nop`."""

from __future__ import annotations

import io
import json
import os
import subprocess
import tarfile
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings, strategies as st

from agent.guidance.material import solution_text
from agent.guidance.solution_words import copied
from agent.loop.actions import SUBMIT
from agent.loop.solution import solution_of
from agent.models.choose import make_model
from agent.models.free.oracle import PART_BYTES, PLACED, OracleModel, Solution, commands
from agent.models.protocol import AssistantTurn, CallFailure, Request
from benchmarks.task import taskdir
from benchmarks.task.solve_script import SolveScript
from benchmarks.task.task import Task, TaskError
from trajectories.record.events import Message, Reply, ToolCall

TASK = "title: T\nkind: repair\nenvironments: [local]\n"


def task_with(root: Path, solution: bool = True) -> Task:
    directory = root / "mine"
    directory.mkdir()
    (directory / "task.yaml").write_text(TASK)
    (directory / "instruction.md").write_text("Do it.")
    if solution:
        (directory / "solution").mkdir()
        (directory / "solution" / "made").write_text("made\n")
    return taskdir.load(directory, benchmark="path")


def run(folder: Path, scripts: list[str]) -> str:
    """Run the commands and return the output of the last one."""
    out = ""
    for script in scripts:
        result = subprocess.run(
            ["bash", "-c", "source /dev/stdin"], cwd=folder, input=script, capture_output=True, text=True
        )
        assert result.returncode == 0, result.stderr
        out = result.stdout
    return out


def tar_of(files: dict[str, bytes]) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as tar:
        for name, content in files.items():
            info = tarfile.TarInfo(name)
            info.size = len(content)
            tar.addfile(info, io.BytesIO(content))
    return buffer.getvalue()


def request(*history: Message | AssistantTurn) -> Request:
    return Request(step=1, try_=1, history=history, timeout_s=10)


def message(content: str) -> Message:
    return Message(id="m", role="tool", content=content, why="observation")


def command_of(reply: Reply) -> str:
    (call,) = reply.tool_calls
    return str(json.loads(call.arguments)["command"])


@settings(max_examples=25, deadline=None)
@given(content=st.binary(max_size=3000), part_bytes=st.integers(20, 400))
def test_any_bytes_arrive_in_any_number_of_parts(content: bytes, part_bytes: int, tmp_path_factory) -> None:
    folder = tmp_path_factory.mktemp("workspace")
    scripts = commands(tar_of({"a/b": content}), part_bytes)
    assert len(set(scripts)) == len(scripts)
    assert run(folder, scripts).strip() == PLACED
    assert [path.name for path in folder.iterdir()] == ["a"]
    assert (folder / "a/b").read_bytes() == content


def test_a_large_solution_is_split_into_commands_of_bounded_size(tmp_path: Path) -> None:
    content = os.urandom(3 * PART_BYTES)
    scripts = commands(tar_of({"large": content}))
    assert len(scripts) == 5  # four parts, and the unpacking
    assert max(map(len, scripts)) < 300_000
    assert run(tmp_path, scripts).strip() == PLACED
    assert (tmp_path / "large").read_bytes() == content


def test_a_solution_overwrites_existing_files(tmp_path: Path) -> None:
    task = task_with(tmp_path)
    assert task.solution is not None
    (task.solution / "tool").write_text("#!/bin/sh\n")
    (task.solution / "tool").chmod(0o755)
    (task.solution / "link").symlink_to("made")
    (task.solution / "__pycache__").mkdir()
    workspace = tmp_path / "workspace"
    workspace.mkdir()
    (workspace / "made").write_text("not yet\n")
    (workspace / "made").chmod(0o444)
    (workspace / "kept").write_text("kept\n")
    before = (workspace / "kept").stat().st_mtime
    run(workspace, commands(solution_of(task).archive))
    assert {path.name for path in workspace.iterdir()} == {"made", "kept", "tool", "link"}
    assert (workspace / "made").read_text() == "made\n"
    assert (workspace / "made").stat().st_mtime >= before  # a build by times sees that it changed
    assert (workspace / "tool").stat().st_mode & 0o777 == 0o755
    assert os.readlink(workspace / "link") == "made"


def test_the_hash_depends_on_the_content_only(tmp_path: Path) -> None:
    task = task_with(tmp_path)
    first = solution_of(task)
    assert task.solution is not None
    os.utime(task.solution / "made", (0, 0))
    assert solution_of(task) == first
    (task.solution / "made").write_text("other\n")
    assert solution_of(task).sha256 != first.sha256


def test_a_solution_that_cannot_be_applied_is_reported(tmp_path: Path) -> None:
    (tmp_path / "one").mkdir()
    (tmp_path / "two").mkdir()
    with pytest.raises(TaskError, match="path/mine has no solution of its own"):
        solution_of(task_with(tmp_path / "one", solution=False))
    task = task_with(tmp_path / "two")
    assert task.solution is not None
    os.mkfifo(task.solution / "pipe")
    with pytest.raises(TaskError, match="pipe: a named pipe"):
        solution_of(task)


def test_the_next_command_follows_from_the_history() -> None:
    model = OracleModel(Solution(tar_of({"a": os.urandom(2 * PART_BYTES)}), "0" * 64))
    history: list[Message | AssistantTurn] = [message("the task")]
    scripts = []
    for turn in range(5):
        reply = model.ask(request(*history)).reply
        scripts.append(command_of(reply))
        history += [AssistantTurn(f"r{turn}", reply), message(PLACED if "tar -x" in scripts[-1] else "")]
        if scripts[-1] == SUBMIT:
            break
    assert (len(scripts), scripts[-1]) == (5, SUBMIT)
    with pytest.raises(CallFailure, match="submitted already"):
        model.ask(request(*history))
    other = make_model("nop", settings={}, api_base=None).ask(request()).reply
    fork = [AssistantTurn("x", Reply(text="another model's")), message("ok"), AssistantTurn("y", other)]
    ids = {call.id for reply in (other, model.ask(request(*fork[:2])).reply) for call in reply.tool_calls}
    assert len(ids) == 2
    assert command_of(model.ask(request(*fork[:2])).reply) == scripts[0]


def test_a_solution_that_was_not_unpacked_is_not_submitted() -> None:
    model = OracleModel(Solution(tar_of({"a": b"x"}), "0" * 64))
    first = AssistantTurn("r", model.ask(request()).reply)
    with pytest.raises(CallFailure, match="could not be unpacked") as caught:
        model.ask(request(first, message("bash: tar: command not found")))
    assert caught.value.error == "gave_up"


def test_nop_submits_whatever_the_history_holds() -> None:
    model = make_model("nop", settings={}, api_base=None)
    assert command_of(model.ask(request()).reply) == SUBMIT
    assert command_of(model.ask(request(message("a task"))).reply) == SUBMIT
    assert model.info.free is not None


def test_the_id_of_a_call_differs_from_ids_of_another_model() -> None:
    calls = tuple(ToolCall(id=f"call_{number}", name="bash", arguments="{}") for number in (1, 2))
    turn = AssistantTurn("r", Reply(tool_calls=calls))
    (call,) = make_model("nop", settings={}, api_base=None).ask(request(turn)).reply.tool_calls
    assert call.id not in {"call_1", "call_2"}


def task_with_script(root: Path, script: str, directory: str | None, env: dict[str, str] | None = None) -> Task:
    """Return a task whose solution is a script, with a directory of files."""
    source = root / "solution"
    source.mkdir()
    (source / "solve.sh").write_text('cat data >>"$RESULT"; cp ../solution/data .; exit 3\n')
    (source / "data").write_text("data\n")
    solve = SolveScript(source, script, directory, env or {})
    (root / "task").mkdir()
    return replace(task_with(root / "task", solution=False), solve=solve)


def history_of(model: OracleModel, outputs: list[str]) -> list[str]:
    """Return the commands that the model sends when its commands print this."""
    history: list[Message | AssistantTurn] = [message("the task")]
    scripts = []
    for output in outputs:
        reply = model.ask(request(*history)).reply
        scripts.append(command_of(reply))
        history += [AssistantTurn(f"r{len(scripts)}", reply), message(output)]
    return scripts


def test_a_script_gets_its_files_in_a_directory_of_its_own_and_runs_in_the_workspace(tmp_path: Path) -> None:
    place = tmp_path / "made for it"
    script = f"cd {str(place)!r} && exec bash solve.sh"
    task = task_with_script(tmp_path, script, str(place), {"RESULT": f"{tmp_path}/a result"})
    place_files, run_script, submit = history_of(OracleModel(solution_of(task)), [PLACED, "", ""])
    workspace = tmp_path / "workspace"
    workspace.mkdir()
    assert run(workspace, [place_files]).strip() == PLACED
    assert list(workspace.iterdir()) == []
    assert {path.name for path in place.iterdir()} == {"solve.sh", "data"}
    # a shell that lives on is neither ended nor moved by the script
    assert run(workspace, [f"{run_script}\necho $? $PWD ${{RESULT-unset}}"]).strip() == f"3 {workspace} unset"
    assert (tmp_path / "a result").read_text() == "data\n"
    assert submit == SUBMIT
    assert task.reference == tmp_path / "solution"


def test_a_script_without_files_is_one_command_and_its_failure_is_submitted(tmp_path: Path) -> None:
    task = task_with_script(tmp_path, "exit 7", None)
    assert history_of(OracleModel(solution_of(task)), ["exit 7", ""]) == ["(\nexit 7\n)", SUBMIT]


def test_a_script_does_not_run_if_its_files_could_not_be_unpacked(tmp_path: Path) -> None:
    task = task_with_script(tmp_path, "true", "/dev/null/none")
    with pytest.raises(CallFailure, match="could not be unpacked"):
        history_of(OracleModel(solution_of(task)), ["mkdir: cannot create directory", ""])


def test_the_hash_of_a_script_depends_on_its_files_its_text_and_its_variables(tmp_path: Path) -> None:
    task = task_with_script(tmp_path, "true", "/oracle")
    assert task.solve is not None
    changed = [
        replace(task.solve, script="false"),
        replace(task.solve, directory="/solution"),
        replace(task.solve, env={"A": "b"}),
        replace(task.solve, source=tmp_path / "solution" / "data"),
    ]
    hashes = [solution_of(replace(task, solve=solve)).sha256 for solve in (task.solve, *changed)]
    assert len(set(hashes)) == len(hashes)


@pytest.mark.parametrize("source", ["solution", "solution/data"])
def test_a_plan_must_not_copy_a_script_s_files_and_an_expert_sees_them(source: str, tmp_path: Path) -> None:
    task = task_with_script(tmp_path, "true", "/oracle")
    words = "read every line of the given input then write their number there"
    (tmp_path / "solution/data").write_text(words)
    (tmp_path / "hidden").write_text("a hidden test")
    assert task.solve is not None
    task = replace(task, solve=replace(task.solve, source=tmp_path / source))
    assert task.reference is not None
    assert copied(["First", words], task.reference) == 1
    text = solution_text(task)
    assert words in text
    assert "hidden" not in text
