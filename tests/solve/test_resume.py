"""A trial whose harness died continues where it stopped, and a fork continues from a step of another trial."""

from __future__ import annotations

import json
import signal
import subprocess
import time
from pathlib import Path

import pytest

from agent.loop.actions import SUBMIT
from tests.solve.command import AGENT, CommandResult, agent, environment, script
from trajectories.reading.reader import read_events
from trajectories.reading.summary import summarize
from trajectories.record.events import ActionFinished, CallFailed, Message, Resumed, Snapshot, Warned

KINDS = ["local", pytest.param("sandbox", marks=pytest.mark.sandbox), pytest.param("docker", marks=pytest.mark.docker)]


@pytest.fixture
def work(tmp_path: Path) -> Path:
    (tmp_path / "start").mkdir()
    (tmp_path / "start" / "given").write_text("given\n")
    return tmp_path


def options(work: Path, kind: str, model: str) -> list[str]:
    if kind == "docker":
        return ["--task", "demo/ledger", "--env", kind, "--model", model, "--no-evaluate"]
    return ["--instruction", "x", "--workspace", str(work / "start"), "--env", kind, "--model", model]


def killed(work: Path, *argv: str, when: str, after_s: float = 0.0) -> Path:
    """Kill a trial `after_s` seconds after its events contain the text `when`; return the trial."""
    process = subprocess.Popen(
        [*AGENT, "solve", *argv], cwd=work, env=environment(work), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    until = time.monotonic() + 60
    while time.monotonic() < until:
        for path in work.glob("runs/*/*/events.jsonl"):
            if when in path.read_text():
                time.sleep(after_s)
                process.kill()
                process.wait()
                return path.parent
        time.sleep(0.002)
    process.kill()
    raise AssertionError(f"no record contains {when}")


def files_at_end(result: CommandResult, work: Path) -> dict[str, str]:
    """Return the text of each file of the trial's last workspace."""
    out = work / f"out-{time.monotonic_ns()}"
    assert agent(work, "checkout", str(result.trial), str(out)).status == 0
    return {str(path.relative_to(out)): path.read_text() for path in sorted(out.rglob("*")) if path.is_file()}


@pytest.mark.parametrize("kind", KINDS)
def test_a_trial_that_was_killed_continues_where_it_stopped(work: Path, kind: str) -> None:
    turns = [
        "echo one >>log; (sleep 77 &)",
        ["echo two >>log", "echo more >new"],
        "sleep 2; echo three >>log",
        "cat log",
        SUBMIT,
    ]
    model = script(work, *turns)
    trial = killed(work, *options(work, kind, model), when='"action":"3.1"', after_s=0.2)
    before = (trial / "events.jsonl").read_bytes()
    result = agent(work, "resume", str(trial), "--json")
    assert result.status == 0, result.err
    assert result.json["exit"]["cause"] == "submitted"
    assert (result.json["steps"], result.json["commands"]) == (5, 6)  # 3.1 was started twice
    assert (trial / "events.jsonl").read_bytes().startswith(before)
    events = result.events
    assert [event.seq for event in events] == list(range(len(events)))
    assert files_at_end(result, work)["log"] == "one\ntwo\nthree\n"
    shown = next(event for event in events if isinstance(event, Message) and event.action == "4.1")
    assert shown.content.endswith("one\ntwo\nthree\n")
    resumed = next(event for event in events if isinstance(event, Resumed))
    assert resumed.restored_step == 2
    assert any("1.1" in line for line in resumed.lost)
    notices = [event for event in events if isinstance(event, Message) and event.why == "notice"]
    assert len(notices) == 1
    assert "\n" not in notices[0].content
    assert agent(work, "show", str(trial), "--check").status == 0


def test_the_time_between_kill_and_resume_does_not_count(work: Path) -> None:
    began = time.monotonic()
    trial = killed(work, *options(work, "local", script(work, "echo a", "sleep 1", SUBMIT)), when='"action":"2.1"')
    time.sleep(3)
    result = agent(work, "resume", str(trial), "--json")
    assert result.status == 0, result.err
    assert 1.0 <= result.json["wall_s"] < time.monotonic() - began - 3


def test_a_call_in_flight_is_made_again_and_its_usage_is_unknown(work: Path) -> None:
    slow = {"commands": ["echo late"], "reply_delay_s": 1.5}
    trial = killed(work, *options(work, "local", script(work, "echo a", slow, SUBMIT)), when='"call_started","step":2')
    assert summarize(trial, read_events(trial)).unmetered_calls == 1
    result = agent(work, "resume", str(trial), "--json")
    assert result.status == 0, result.err
    assert result.json["steps"] == 3
    lost = next(event for event in result.events if isinstance(event, CallFailed))
    assert (lost.step, lost.error, lost.retry) == (2, "interrupted", True)


def test_a_command_that_finished_before_its_snapshot_is_run_again(work: Path) -> None:
    trial = killed(
        work,
        *options(work, "local", script(work, "echo a >>f", ["echo b >>f", "sleep 1"], SUBMIT)),
        when='"action":"2.2"',
    )
    result = agent(work, "resume", str(trial), "--json")
    assert result.status == 0, result.err
    assert next(event for event in result.events if isinstance(event, Resumed)).rerun == ("2.1",)
    assert files_at_end(result, work)["f"] == "a\nb\n"
    assert sum(isinstance(event, ActionFinished) and event.action == "2.1" for event in result.events) == 1


def test_an_interrupted_trial_is_resumed(work: Path) -> None:
    argv = options(work, "local", script(work, "echo a >f", "sleep 2; echo b >>f", SUBMIT))
    process = subprocess.Popen(
        [*AGENT, "solve", *argv], cwd=work, env=environment(work), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    until = time.monotonic() + 30
    while not any('"action":"2.1"' in path.read_text() for path in work.glob("runs/*/*/events.jsonl")):
        assert time.monotonic() < until
        time.sleep(0.01)
    process.send_signal(signal.SIGINT)
    assert process.wait(120) == 130
    (trial,) = (path.parent for path in work.glob("runs/*/*/events.jsonl"))
    result = agent(work, "resume", str(trial), "--json")
    assert result.status == 0, result.err
    assert result.json["exit"]["cause"] == "submitted"
    assert files_at_end(result, work)["f"] == "a\nb\n"
    assert agent(work, "show", str(trial), "--check").status == 0


def test_resuming_a_finished_trial_reports_that_it_is_finished(work: Path) -> None:
    result = agent(work, "solve", *options(work, "local", script(work, SUBMIT)), "--json")
    before = (result.trial / "events.jsonl").read_bytes()
    resumed = agent(work, "resume", str(result.trial), "--json")
    assert (resumed.status, resumed.json["exit"]["cause"]) == (0, "submitted")
    assert "is finished" in resumed.err
    assert (result.trial / "events.jsonl").read_bytes() == before


def test_a_trial_that_another_process_holds_is_not_resumed(work: Path) -> None:
    argv = options(work, "local", script(work, "sleep 60", SUBMIT))
    process = subprocess.Popen(
        [*AGENT, "solve", *argv], cwd=work, env=environment(work), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    try:
        until = time.monotonic() + 30
        while not any('"action":"1.1"' in path.read_text() for path in work.glob("runs/*/*/events.jsonl")):
            assert time.monotonic() < until
            time.sleep(0.01)
        (trial,) = (path.parent for path in work.glob("runs/*/*/events.jsonl"))
        result = agent(work, "resume", str(trial))
        assert result.status == 2
        assert "is at work on this trial" in result.err
    finally:
        process.kill()
        process.wait(120)


def test_a_trial_is_not_resumed_with_a_changed_script(work: Path) -> None:
    model = script(work, "echo a", "sleep 5", SUBMIT)
    trial = killed(work, *options(work, "local", model), when='"action":"2.1"')
    Path(model.partition(":")[2]).write_text(json.dumps(["echo other", SUBMIT]))
    result = agent(work, "resume", str(trial))
    assert result.status == 2
    assert "has changed" in result.err


def test_a_trial_with_an_incomplete_last_line_is_resumed(work: Path) -> None:
    trial = killed(work, *options(work, "local", script(work, "echo a >f", "sleep 2", SUBMIT)), when='"action":"2.1"')
    with (trial / "events.jsonl").open("ab") as file:
        file.write(b'{"seq":99,"t":"2026')
    result = agent(work, "resume", str(trial), "--json")
    assert result.status == 0, result.err
    assert [event.seq for event in result.events] == list(range(len(result.events)))


@pytest.mark.parametrize("kind", KINDS)
def test_a_fork_begins_with_messages_and_workspace_of_its_step(work: Path, kind: str) -> None:
    turns = ["echo one >log; chmod 600 log; ln -s log link", "echo two >>log; mkdir -p d/e", "rm log", SUBMIT]
    parent = agent(work, "solve", *options(work, kind, script(work, *turns)), "--json")
    other = script(work, "-", "-", "cat log; stat -c %a log; readlink link; ls -d d/e", SUBMIT)
    child = agent(
        work,
        "fork",
        str(parent.trial),
        "--at",
        "2",
        "--model",
        other,
        "--inject",
        "look at the log",
        "--no-evaluate",
        "--json",
    )
    assert child.status == 0, child.err
    assert (child.json["steps"], child.json["commands"]) == (2, 1)
    shown = next(
        event for event in child.events if isinstance(event, Message) and event.action == "1.1" and not event.inherited
    )
    assert shown.content == "exit code: 0\noutput:\none\ntwo\n600\nlog\nd/e\n"
    first = child.events[0]
    assert (first.parent.trial, first.parent.step) == (parent.trial.name, 2)
    messages = [event for event in child.events if isinstance(event, Message)]
    parent_messages = [event for event in parent.events if isinstance(event, Message)]
    inherited = [event.content for event in messages if event.inherited]
    assert inherited == [event.content for event in parent_messages][: len(inherited)]
    assert [event.content for event in messages if event.why == "hint"] == ["look at the log"]
    assert agent(work, "show", str(child.trial), "--check").status == 0
    assert agent(work, "fork", str(child.trial), "--at", "1", "--model", other, "--no-evaluate").status == 0


def test_a_fork_s_limits_count_from_the_branch_point(work: Path) -> None:
    parent = agent(
        work,
        "solve",
        *options(work, "local", script(work, "echo 1", "echo 2", "echo 3", SUBMIT)),
        "--step-limit",
        "4",
        "--json",
    )
    child = agent(work, "fork", str(parent.trial), "--at", "3", "--model", script(work, *["echo x"] * 20), "--json")
    assert (child.json["exit"]["cause"], child.json["steps"]) == ("steps", 4)


@pytest.mark.parametrize(
    ("argv", "message"), [(("--at", "9"), "has steps 0 to 2"), (("--at", "1", "--model", "script:none"), "cannot read")]
)
def test_an_impossible_fork_is_rejected_before_anything_starts(work: Path, argv: tuple[str, ...], message: str) -> None:
    parent = agent(work, "solve", *options(work, "local", script(work, "echo 1", SUBMIT)), "--json")
    result = agent(work, "fork", str(parent.trial), *argv)
    assert (result.status, message in result.err) == (2, True), result.err
    assert len(list(work.glob("runs/single/*/events.jsonl"))) == 1


def test_the_changes_of_each_step_are_recorded(work: Path) -> None:
    result = agent(
        work, "solve", *options(work, "local", script(work, "echo 1 >a", "true", "rm given", SUBMIT)), "--json"
    )
    snapshots = [event for event in result.events if isinstance(event, Snapshot)]
    changes = {event.step: [(change.path, change.change) for change in event.changes] for event in snapshots}
    assert changes == {0: [("given", "created")], 1: [("a", "created")], 2: [], 3: [("given", "deleted")], 4: []}


@pytest.mark.docker
def test_a_trial_is_resumed_in_the_image_of_its_last_checkpoint(work: Path) -> None:
    turns = ["echo 1 >a", "sleep 3", SUBMIT]
    model = script(work, *turns)
    trial = killed(work, *options(work, "docker", model), "--checkpoint-every", "1", when='"action":"2.1"')
    events = list(read_events(trial))
    image = next(event.image for event in events if event.type == "checkpoint")
    result = agent(work, "resume", str(trial), "--json")
    assert result.status == 0, result.err
    assert [event.image for event in result.events if event.type == "env_started"][1] == image
    subprocess.run(
        ["docker", "rmi", "-f", *{event.image for event in result.events if event.type == "checkpoint"}],
        check=True,
        stdout=subprocess.DEVNULL,
    )


def test_checkpoints_are_rejected_in_an_environment_without_them(work: Path) -> None:
    result = agent(work, "solve", *options(work, "local", script(work, SUBMIT)), "--checkpoint-every", "2")
    assert result.status == 2
    assert "--checkpoint-every" in result.err


def finished_without_export(work: Path, *turns: object, kind: str = "local") -> Path:
    """Return a trial whose harness died between its exit and its export."""
    result = agent(work, "solve", *options(work, kind, script(work, *turns)), "--json")
    assert result.status == 0, result.err
    (result.trial / "workspace.tar.zst").unlink()
    log = result.trial / "events.jsonl"
    lines = log.read_bytes().splitlines(keepends=True)
    log.write_bytes(b"".join(lines[: next(at for at, line in enumerate(lines) if b'"type":"exit"' in line) + 1]))
    return result.trial


@pytest.mark.parametrize("turns", [("echo one >log", SUBMIT), (SUBMIT,), ("echo one >log", "exit 3")])
def test_a_trial_that_died_before_its_export_gets_the_workspace_of_its_last_snapshot(
    work: Path, turns: tuple[str, ...]
) -> None:
    trial = finished_without_export(work, *turns, *([] if SUBMIT in turns else [SUBMIT]))
    result = agent(work, "resume", str(trial), "--json")
    assert (result.status, result.json["exit"]["cause"]) == (0, "submitted"), result.err
    assert [event.kind for event in result.events if isinstance(event, Warned)] == ["workspace_from_snapshot"]
    assert ("log" in files_at_end(result, work)) == (turns != (SUBMIT,))


def test_a_snapshot_that_is_not_whole_is_not_scored_as_the_agent_s_work(work: Path) -> None:
    """`agent evaluate` refuses it, too: another workspace than the agent's would get its score."""
    trial = finished_without_export(work, "truncate -s 8T huge; echo one >log", SUBMIT)
    before = (trial / "events.jsonl").read_bytes()
    result = agent(work, "resume", str(trial))
    assert result.status == 2
    assert "its last snapshot is not whole: huge" in result.err
    assert (trial / "events.jsonl").read_bytes() == before


def test_a_finished_trial_without_any_snapshot_is_not_scored_as_the_task_s_own_workspace(work: Path) -> None:
    trial = finished_without_export(work, "echo one >log", SUBMIT)
    log = trial / "events.jsonl"
    events = [json.loads(line) for line in log.read_text().splitlines()]
    kept = [event for event in events if event["type"] != "snapshot"]
    log.write_text("".join(f"{json.dumps({**event, 'seq': at})}\n" for at, event in enumerate(kept)))
    before = log.read_bytes()
    result = agent(work, "resume", str(trial))
    assert result.status == 2
    assert "the record holds no final workspace" in result.err
    assert log.read_bytes() == before
