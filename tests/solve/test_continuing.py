"""Continuing a trial after ends other than a crash, from incomplete records, and by forks of resumed trials."""

from __future__ import annotations

import json
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest

from agent.loop.actions import SUBMIT
from tests.solve.command import AGENT, agent, environment, script
from trajectories.reading.lines import kind_of
from trajectories.reading.reader import read_events
from trajectories.record.events import Checkpoint, EnvStarted, Message, Resumed, Warned


@pytest.fixture
def work(tmp_path: Path) -> Path:
    (tmp_path / "start").mkdir()
    (tmp_path / "start" / "given").write_text("given\n")
    return tmp_path


def options_for(work: Path, *turns: Any) -> list[str]:
    """Return options of a trial that follows a script of these turns on the host."""
    options = ["--instruction", "x", "--workspace", str(work / "start"), "--env", "local"]
    return [*options, "--model", script(work, *turns)]


def begin(work: Path, *argv: str, until: str) -> subprocess.Popen[bytes]:
    """Start a trial in the background; return its process once its events contain the text `until`."""
    process = subprocess.Popen(
        [*AGENT, "solve", *argv], cwd=work, env=environment(work), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    deadline = time.monotonic() + 60
    while not any(until in path.read_text() for path in work.glob("runs/*/*/events.jsonl")):
        assert time.monotonic() < deadline
        time.sleep(0.005)
    return process


def only_trial(work: Path) -> Path:
    (trial,) = (path.parent for path in work.glob("runs/*/*/events.jsonl"))
    return trial


def assert_consistent(work: Path, trial: Path) -> None:
    result = agent(work, "show", str(trial), "--check")
    assert result.status == 0, result.out


def test_a_trial_ended_by_an_unavailable_model_is_resumed(work: Path) -> None:
    turns = ["echo a >a", {"fail": {"error": "authentication", "status": 401}}, "cat a", SUBMIT]
    first = agent(work, "solve", *options_for(work, *turns), "--json")
    assert (first.status, first.json["exit"]["cause"]) == (1, "model_unavailable")
    result = agent(work, "resume", str(first.trial), "--json")
    assert (result.status, result.json["exit"]["cause"], result.json["steps"]) == (0, "submitted", 3)
    assert_consistent(work, first.trial)


def test_a_resumed_trial_can_be_forked_and_shown_at_every_step(work: Path) -> None:
    turns = ["echo a >>f", {"fail": {"error": "authentication"}}, "echo b >>f", "echo c >>f", SUBMIT]
    trial = agent(work, "solve", *options_for(work, *turns), "--json").trial
    assert agent(work, "resume", str(trial)).status == 0
    assert "echo c" in agent(work, "show", str(trial), "--step", "3").out
    model = script(work, "-", "-", "-", "cat f", SUBMIT)
    for step, lines in ((1, "a\n"), (3, "a\nb\nc\n")):
        child = agent(work, "fork", str(trial), "--at", str(step), "--model", model, "--json")
        assert child.status == 0, child.err
        shown = [event.content for event in child.events if isinstance(event, Message) and not event.inherited]
        assert step == 1 or any(lines in content for content in shown)
        assert_consistent(work, child.trial)


def test_a_notice_gives_a_fork_its_new_workspace_directory(work: Path) -> None:
    parent = agent(work, "solve", *options_for(work, "pwd", SUBMIT), "--json")
    child = agent(work, "fork", str(parent.trial), "--at", "1", "--model", script(work, "-", SUBMIT), "--json")
    (notice,) = (event for event in child.events if isinstance(event, Message) and event.why == "notice")
    (started,) = (event for event in child.events if isinstance(event, EnvStarted))
    assert started.workdir in notice.content


def test_a_trial_is_resumed_although_its_start_directory_has_changed(work: Path) -> None:
    process = begin(work, *options_for(work, "echo a >a", "sleep 5", SUBMIT), until='"action":"2.1"')
    process.kill()
    process.wait()
    (work / "start" / "given").write_text("other\n")
    result = agent(work, "resume", str(only_trial(work)), "--json")
    assert result.status == 0, result.err
    out = work / "out"
    assert agent(work, "checkout", str(result.trial), str(out)).status == 0
    assert (out / "given").read_text() == "given\n"


def test_a_trial_is_not_resumed_with_a_changed_prompt_if_its_own_prompt_is_lost(work: Path) -> None:
    text = (Path(__file__).parents[2] / "prompts" / "default.yaml").read_text().replace("software", "careful")
    (work / "own.yaml").write_text(text)
    argv = [*options_for(work, "echo a", "sleep 9", SUBMIT), "--prompt", "own.yaml"]
    process = begin(work, *argv, until='"action":"2.1"')
    process.kill()
    process.wait()
    trial = only_trial(work)
    sha256 = next(iter(read_events(trial))).prompt.sha256
    for blobs in (trial / "blobs", trial.parent / ".pool"):
        for path in blobs.rglob(f"{sha256[2:]}*"):
            path.unlink()
    (work / "own.yaml").write_text(text + "\n")
    result = agent(work, "resume", str(trial))
    assert result.status == 2
    assert "prompt own.yaml has changed" in " ".join(result.err.split())


@pytest.mark.parametrize("name", ["default-1", pytest.param("default", marks=pytest.mark.slow)])
def test_a_trial_whose_own_prompt_is_lost_continues_with_the_shipped_version_that_it_names(
    work: Path, name: str
) -> None:
    argv = [*options_for(work, "echo a", "sleep 9", SUBMIT), "--prompt", name]
    process = begin(work, *argv, until='"action":"2.1"')
    process.kill()
    process.wait()
    trial = only_trial(work)
    prompt = next(iter(read_events(trial))).prompt
    for blobs in (trial / "blobs", trial.parent / ".pool"):
        for path in blobs.rglob(f"{prompt.sha256[2:]}*"):
            path.unlink()
    result = agent(work, "resume", str(trial), "--json")
    assert result.status == 0, result.err
    assert result.json["exit"]["cause"] == "submitted"
    assert prompt.name == {"default": "default-2"}.get(name, name)


def test_a_fork_of_a_record_without_workspaces_names_the_way_out(work: Path) -> None:
    trial = agent(work, "solve", *options_for(work, "echo a", SUBMIT), "--json").trial
    path = trial / "events.jsonl"
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join(line for line in lines if kind_of(line) != "snapshot"))
    result = agent(work, "fork", str(trial), "--at", "1")
    assert result.status == 2
    assert "holds no workspaces" in result.err
    assert "--image or --workspace" in result.err


@pytest.mark.parametrize("content", [b"", b'{"seq":0,"t'], ids=["empty", "half-a-line"])
def test_a_trial_that_died_before_its_first_event_is_not_resumed(work: Path, content: bytes) -> None:
    trial = work / "runs" / "single" / "dead"
    trial.mkdir(parents=True)
    (trial / "events.jsonl").write_bytes(content)
    result = agent(work, "resume", str(trial))
    assert result.status == 2
    assert len(result.err.strip().splitlines()) == 1


def test_a_damaged_record_is_neither_resumed_nor_forked(work: Path) -> None:
    trial = agent(work, "solve", *options_for(work, "echo a", SUBMIT), "--json").trial
    path = trial / "events.jsonl"
    kept = [line for line in path.read_bytes().splitlines(keepends=True) if kind_of(line) != "action_started"]
    path.write_bytes(b"".join(kept))
    for argv in (["resume", str(trial)], ["fork", str(trial), "--at", "1"]):
        result = agent(work, *argv)
        assert (result.status, "Traceback" in result.err) == (2, False)
        assert "'1.1' finished but was not started" in " ".join(result.err.split())


@pytest.mark.docker
def test_a_trial_whose_container_was_killed_is_resumed(work: Path) -> None:
    model = script(work, "echo a >a", "echo b >>a; sleep 4", "cat a", SUBMIT)
    argv = ["--task", "demo/ledger", "--env", "docker", "--model", model, "--no-evaluate"]
    process = begin(work, *argv, until='"action":"2.1"')
    trial = only_trial(work)
    container = next(event.container for event in read_events(trial) if isinstance(event, EnvStarted))
    subprocess.run(["docker", "kill", str(container)], check=True, stdout=subprocess.DEVNULL)
    assert process.wait(120) == 1
    result = agent(work, "resume", str(trial), "--json")
    assert (result.status, result.json["exit"]["cause"]) == (0, "submitted"), result.err
    shown = next(event for event in result.events if isinstance(event, Message) and event.action == "3.1")
    assert shown.content.endswith("a\nb\n")
    assert_consistent(work, trial)


@pytest.mark.docker
def test_a_checkpoint_restores_files_outside_of_the_workspace(work: Path) -> None:
    model = script(work, "echo kept >~/kept", "echo 2 >two", "echo later >~/later", SUBMIT)
    argv = ["--task", "demo/ledger", "--env", "docker", "--model", model, "--no-evaluate", "--checkpoint-every", "2"]
    parent = agent(work, "solve", *argv, "--json")
    images = [event.image for event in parent.events if isinstance(event, Checkpoint)]
    try:
        model = script(work, "-", "-", "-", "cat ~/kept two; cat ~/later", SUBMIT)
        fork = ("fork", str(parent.trial), "--at", "3", "--model", model, "--no-evaluate", "--json")
        child = agent(work, *fork)
        assert child.status == 0, child.err
        images += [event.image for event in child.events if isinstance(event, Checkpoint)]
        shown = next(e for e in child.events if isinstance(e, Message) and e.action == "1.1" and not e.inherited)
        assert "kept\n2\n" in shown.content
        assert "later: No such file" in shown.content
        assert child.events[0].environment_spec == parent.events[0].environment_spec
        warnings = [event.text for event in child.events if isinstance(event, Warned)]
        assert "files outside of the workspace since step 2" in warnings
        subprocess.run(["docker", "rmi", "-f", images[0]], check=True, stdout=subprocess.DEVNULL)
        child = agent(work, *fork)
        images += [event.image for event in child.events if isinstance(event, Checkpoint)]
        warnings = [event.text for event in child.events if isinstance(event, Warned)]
        assert any("of step 2 is gone" in text for text in warnings)
    finally:
        subprocess.run(["docker", "rmi", "-f", *images], check=False, capture_output=True)


def test_a_file_that_is_too_large_to_be_kept_is_recorded_as_lost(work: Path) -> None:
    process = begin(work, *options_for(work, "truncate -s 70M large", "sleep 5", SUBMIT), until='"action":"2.1"')
    process.kill()
    process.wait()
    result = agent(work, "resume", str(only_trial(work)), "--json")
    assert result.status == 0, result.err
    (resumed,) = (event for event in result.events if isinstance(event, Resumed))
    assert any(line.startswith("large: its content was not kept") for line in resumed.lost)


@pytest.mark.parametrize("kind", ["local", "sandbox"])
def test_restored_files_have_the_times_of_the_record(work: Path, kind: str) -> None:
    """The files of the task have them, too, because `make` decides by the times of files what to build."""
    show_times = "stat -c '%n %.9Y' given new"
    options = ["--instruction", "x", "--workspace", str(work / "start"), "--env", kind]
    touched = "echo a >new; touch -d @1000.123456789 given"
    parent = agent(work, "solve", *options, "--model", script(work, touched, show_times, SUBMIT), "--json")
    child = agent(
        work, "fork", str(parent.trial), "--at", "1", "--model", script(work, "-", show_times, SUBMIT), "--json"
    )
    recorded, restored = (
        [event.content for event in result.events if isinstance(event, Message) and "given 1000" in event.content]
        for result in (parent, child)
    )
    assert recorded == restored
    assert "given 1000.123456789" in restored[0]


def test_export_and_analysis_of_a_resumed_trial_have_each_command_once_and_the_last_exit(work: Path) -> None:
    turns = ["echo a", "sleep 1; echo twice", {"fail": {"error": "authentication"}}, SUBMIT]
    process = begin(work, *options_for(work, *turns), until='"action":"2.1"')
    process.kill()
    process.wait()
    trial = only_trial(work)
    assert agent(work, "resume", str(trial)).status == 1  # the model fails
    assert agent(work, "resume", str(trial)).status == 0
    assert sum(event.type == "action_started" for event in read_events(trial)) == 3
    document = json.loads(agent(work, "export", str(trial), "--format", "mini").out)
    actions = [action for message in document["messages"] for action in message.get("extra", {}).get("actions", ())]
    assert document["info"]["exit_status"] == "Submitted"
    assert [action["command"] for action in actions] == ["echo a", "sleep 1; echo twice", SUBMIT]
    (analysis,) = agent(work, "analyze", str(trial), "--json").json["trials"]
    assert analysis["actions"]["total"] == 2


def test_the_task_message_of_a_fork_describes_its_own_form_of_commands(work: Path) -> None:
    parent = agent(work, "solve", *options_for(work, "echo a", SUBMIT), "--json").trial
    path = parent / "events.jsonl"
    text = path.read_text().replace('"settings":{', '"settings":{"action":"fenced",', 1)
    path.write_text(text)
    instructions = {}
    for name, at in (("parent", 0), ("again", 1)):
        child = agent(work, "fork", str(parent), "--at", str(at), "--model", script(work, "-", SUBMIT), "--json")
        assert child.status == 0, child.err
        instructions[name] = [
            event.content for event in child.events if isinstance(event, Message) and event.why == "task"
        ]
        assert len(instructions[name]) == 1
        assert "calls the `bash` tool" in instructions[name][0]
        (started,) = (event for event in child.events if isinstance(event, EnvStarted))
        assert started.workdir in instructions[name][0]  # rendered anew by the prompt of the child
