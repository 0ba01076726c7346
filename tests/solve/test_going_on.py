"""What a trial goes on from: other ends than a crash, records that lack something, forks of what was resumed."""

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


def local(work: Path, *turns: Any) -> list[str]:
    place = ["--instruction", "x", "--workspace", str(work / "start"), "--env", "local"]
    return [*place, "--model", script(work, *turns)]


def begun(work: Path, *argv: str, until: str) -> subprocess.Popen[bytes]:
    """A trial in the background, once its events hold a text."""
    process = subprocess.Popen(
        [*AGENT, "solve", *argv], cwd=work, env=environment(work), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    deadline = time.monotonic() + 60
    while not any(until in path.read_text() for path in work.glob("runs/*/*/events.jsonl")):
        assert time.monotonic() < deadline
        time.sleep(0.005)
    return process


def only_trial(work: Path) -> Path:
    (found,) = (path.parent for path in work.glob("runs/*/*/events.jsonl"))
    return found


def consistent(work: Path, trial: Path) -> bool:
    done = agent(work, "show", str(trial), "--check")
    assert done.status == 0, done.out
    return True


def test_after_a_model_that_was_not_to_be_had(work: Path) -> None:
    turns = ["echo a >a", {"fail": {"error": "authentication", "status": 401}}, "cat a", SUBMIT]
    first = agent(work, "solve", *local(work, *turns), "--json")
    assert (first.status, first.json["exit"]["cause"]) == (1, "model_unavailable")
    done = agent(work, "resume", str(first.trial), "--json")
    assert (done.status, done.json["exit"]["cause"], done.json["steps"]) == (0, "submitted", 3)
    assert consistent(work, first.trial)


def test_a_resumed_trial_can_be_forked_and_shown_at_every_step(work: Path) -> None:
    turns = ["echo a >>f", {"fail": {"error": "authentication"}}, "echo b >>f", "echo c >>f", SUBMIT]
    trial = agent(work, "solve", *local(work, *turns), "--json").trial
    assert agent(work, "resume", str(trial)).status == 0
    assert "echo c" in agent(work, "show", str(trial), "--step", "3").out
    model = script(work, "-", "-", "-", "cat f", SUBMIT)
    for step, lines in ((1, "a\n"), (3, "a\nb\nc\n")):
        child = agent(work, "fork", str(trial), "--at", str(step), "--model", model, "--json")
        assert child.status == 0, child.err
        shown = [event.content for event in child.events if isinstance(event, Message) and not event.inherited]
        assert step == 1 or any(lines in content for content in shown)
        assert consistent(work, child.trial)


def test_a_fork_is_told_where_its_workspace_is_now(work: Path) -> None:
    parent = agent(work, "solve", *local(work, "pwd", SUBMIT), "--json")
    child = agent(work, "fork", str(parent.trial), "--at", "1", "--model", script(work, "-", SUBMIT), "--json")
    (notice,) = (event for event in child.events if isinstance(event, Message) and event.why == "notice")
    (started,) = (event for event in child.events if isinstance(event, EnvStarted))
    assert started.workdir in notice.content


def test_a_workspace_directory_that_changed_is_no_obstacle(work: Path) -> None:
    process = begun(work, *local(work, "echo a >a", "sleep 5", SUBMIT), until='"action":"2.1"')
    process.kill()
    process.wait()
    (work / "start" / "given").write_text("other\n")
    done = agent(work, "resume", str(only_trial(work)), "--json")
    assert done.status == 0, done.err
    out = work / "out"
    assert agent(work, "checkout", str(done.trial), str(out)).status == 0
    assert (out / "given").read_text() == "given\n"


def test_a_prompt_that_changed_and_was_not_kept_is_refused(work: Path) -> None:
    text = (Path(__file__).parents[2] / "prompts" / "default.yaml").read_text()
    (work / "own.yaml").write_text(text)
    argv = [*local(work, "echo a", "sleep 9", SUBMIT), "--prompt", "own.yaml"]
    process = begun(work, *argv, until='"action":"2.1"')
    process.kill()
    process.wait()
    trial = only_trial(work)
    sha256 = next(iter(read_events(trial))).prompt.sha256
    for blobs in (trial / "blobs", trial.parent / ".pool"):
        for path in blobs.rglob(f"{sha256[2:]}*"):
            path.unlink()
    (work / "own.yaml").write_text(text + "\n")
    refused = agent(work, "resume", str(trial))
    assert refused.status == 2
    assert "prompt own.yaml has changed" in " ".join(refused.err.split())


def test_a_record_without_workspaces_says_what_can_be_done(work: Path) -> None:
    trial = agent(work, "solve", *local(work, "echo a", SUBMIT), "--json").trial
    path = trial / "events.jsonl"
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join(line for line in lines if kind_of(line) != "snapshot"))
    refused = agent(work, "fork", str(trial), "--at", "1")
    assert refused.status == 2
    assert "holds no workspaces" in refused.err
    assert "--image or --workspace" in refused.err


@pytest.mark.parametrize("what", ["nothing at all", "half a line"])
def test_a_trial_that_died_before_its_first_event(work: Path, what: str) -> None:
    trial = work / "runs" / "single" / "dead"
    trial.mkdir(parents=True)
    (trial / "events.jsonl").write_bytes(b"" if what == "nothing at all" else b'{"seq":0,"t')
    refused = agent(work, "resume", str(trial))
    assert refused.status == 2
    assert len(refused.err.strip().splitlines()) == 1


def test_a_damaged_record_is_refused(work: Path) -> None:
    trial = agent(work, "solve", *local(work, "echo a", SUBMIT), "--json").trial
    path = trial / "events.jsonl"
    kept = [line for line in path.read_bytes().splitlines(keepends=True) if kind_of(line) != "action_started"]
    path.write_bytes(b"".join(kept))
    for argv in (["resume", str(trial)], ["fork", str(trial), "--at", "1"]):
        refused = agent(work, *argv)
        assert (refused.status, "Traceback" in refused.err) == (2, False)
        assert "'1.1' finished and was not started" in " ".join(refused.err.split())


@pytest.mark.docker
def test_after_a_container_that_was_lost(work: Path) -> None:
    model = script(work, "echo a >a", "echo b >>a; sleep 4", "cat a", SUBMIT)
    argv = ["--task", "demo/ledger", "--env", "docker", "--model", model, "--no-evaluate"]
    process = begun(work, *argv, until='"action":"2.1"')
    trial = only_trial(work)
    container = next(event.container for event in read_events(trial) if isinstance(event, EnvStarted))
    subprocess.run(["docker", "kill", str(container)], check=True, stdout=subprocess.DEVNULL)
    assert process.wait(120) == 1
    done = agent(work, "resume", str(trial), "--json")
    assert (done.status, done.json["exit"]["cause"]) == (0, "submitted"), done.err
    shown = next(event for event in done.events if isinstance(event, Message) and event.action == "3.1")
    assert shown.content.endswith("a\nb\n")
    assert consistent(work, trial)


@pytest.mark.docker
def test_checkpoints_bring_back_what_is_outside_of_the_workspace(work: Path) -> None:
    model = script(work, "echo kept >~/kept", "echo 2 >two", "echo later >~/later", SUBMIT)
    argv = ["--task", "demo/ledger", "--env", "docker", "--model", model, "--no-evaluate", "--checkpoint-every", "2"]
    parent = agent(work, "solve", *argv, "--json")
    images = [event.image for event in parent.events if isinstance(event, Checkpoint)]
    try:
        other = script(work, "-", "-", "-", "cat ~/kept two; cat ~/later", SUBMIT)
        fork = ("fork", str(parent.trial), "--at", "3", "--model", other, "--no-evaluate", "--json")
        child = agent(work, *fork)
        assert child.status == 0, child.err
        images += [event.image for event in child.events if isinstance(event, Checkpoint)]
        shown = next(e for e in child.events if isinstance(e, Message) and e.action == "1.1" and not e.inherited)
        assert "kept\n2\n" in shown.content
        assert "later: No such file" in shown.content
        assert child.events[0].environment_spec == parent.events[0].environment_spec
        said = [event.text for event in child.events if isinstance(event, Warned)]
        assert "files outside of the workspace since step 2" in said
        subprocess.run(["docker", "rmi", "-f", images[0]], check=True, stdout=subprocess.DEVNULL)
        child = agent(work, *fork)
        images += [event.image for event in child.events if isinstance(event, Checkpoint)]
        said = [event.text for event in child.events if isinstance(event, Warned)]
        assert any("of step 2 is gone" in text for text in said)
    finally:
        subprocess.run(["docker", "rmi", "-f", *images], check=False, capture_output=True)


def test_what_is_too_large_to_be_kept_is_said_to_be_lost(work: Path) -> None:
    process = begun(work, *local(work, "truncate -s 70M large", "sleep 5", SUBMIT), until='"action":"2.1"')
    process.kill()
    process.wait()
    done = agent(work, "resume", str(only_trial(work)), "--json")
    assert done.status == 0, done.err
    (resumed,) = (event for event in done.events if isinstance(event, Resumed))
    assert any(line.startswith("large: its content was not kept") for line in resumed.lost)


@pytest.mark.parametrize("kind", ["local", "sandbox"])
def test_files_have_the_times_of_the_record(work: Path, kind: str) -> None:
    """Those that the task brings, too: make decides by them what is to be built."""
    tell = "stat -c '%n %.9Y' given new"
    place = ["--instruction", "x", "--workspace", str(work / "start"), "--env", kind]
    touched = "echo a >new; touch -d @1000.123456789 given"
    parent = agent(work, "solve", *place, "--model", script(work, touched, tell, SUBMIT), "--json")
    child = agent(work, "fork", str(parent.trial), "--at", "1", "--model", script(work, "-", tell, SUBMIT), "--json")
    then, now = (
        [event.content for event in done.events if isinstance(event, Message) and "given 1000" in event.content]
        for done in (parent, child)
    )
    assert then == now
    assert "given 1000.123456789" in now[0]


def test_what_is_derived_of_a_resumed_trial_has_each_command_once_and_its_last_exit(work: Path) -> None:
    turns = ["echo a", "sleep 1; echo twice", {"fail": {"error": "authentication"}}, SUBMIT]
    process = begun(work, *local(work, *turns), until='"action":"2.1"')
    process.kill()
    process.wait()
    trial = only_trial(work)
    assert agent(work, "resume", str(trial)).status == 1  # the model
    assert agent(work, "resume", str(trial)).status == 0
    assert sum(event.type == "action_started" for event in read_events(trial)) == 3
    document = json.loads(agent(work, "export", str(trial), "--format", "mini").out)
    asked = [action for message in document["messages"] for action in message.get("extra", {}).get("actions", ())]
    assert document["info"]["exit_status"] == "Submitted"
    assert [action["command"] for action in asked] == ["echo a", "sleep 1; echo twice", SUBMIT]
    (analysis,) = agent(work, "analyze", str(trial), "--json").json["trials"]
    assert analysis["actions"]["total"] == 2


def test_a_fork_is_told_its_own_form_of_commands(work: Path) -> None:
    parent = agent(work, "solve", *local(work, "echo a", SUBMIT), "--json").trial
    path = parent / "events.jsonl"
    text = path.read_text().replace('"settings":{', '"settings":{"action":"fenced",', 1)
    path.write_text(text)
    told = {}
    for name, at in (("parent", 0), ("again", 1)):
        child = agent(work, "fork", str(parent), "--at", str(at), "--model", script(work, "-", SUBMIT), "--json")
        assert child.status == 0, child.err
        told[name] = [event.content for event in child.events if isinstance(event, Message) and event.why == "task"]
        assert len(told[name]) == 1
        assert "calls the `bash` tool" in told[name][0]
        (started,) = (event for event in child.events if isinstance(event, EnvStarted))
        assert started.workdir in told[name][0]  # said anew, by the child's own prompt
