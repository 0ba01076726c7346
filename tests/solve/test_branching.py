"""What a fork tells its model, what it inherits, and trials that need something which their record lacks."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from agent.loop.actions import SUBMIT
from tests.formats.test_export import minimal
from tests.solve.command import CommandResult, agent, script
from tests.solve.test_every_death import cut
from trajectories.reading.lines import kind_of
from trajectories.record.events import CallFailed, InheritedReply, Message, Resumed


@pytest.fixture
def work(tmp_path: Path) -> Path:
    (tmp_path / "start").mkdir()
    return tmp_path


def solve(work: Path, *turns: Any, options: tuple[str, ...] = ()) -> CommandResult:
    """Run a trial on the host that follows a script of these turns."""
    place = ("--instruction", "x", "--workspace", str(work / "start"), "--env", "local")
    return agent(work, "solve", *place, "--model", script(work, *turns), *options, "--json")


def notices(run: CommandResult) -> list[str]:
    """Return the notices that a fork's model was given by the fork itself."""
    messages = (event for event in run.events if isinstance(event, Message))
    return [event.content for event in messages if event.why == "notice" and not event.inherited]


def line_of(trial: Path, kind: str) -> int:
    """Return the number of the first line of a record with this type of event."""
    lines = (trial / "events.jsonl").read_bytes().splitlines()
    return next(number for number, line in enumerate(lines, start=1) if kind_of(line) == kind)


def test_a_fork_tells_its_model_what_is_gone(work: Path) -> None:
    parent = solve(work, "(sleep 30 >/dev/null 2>&1 &)", SUBMIT)
    child = agent(work, "fork", str(parent.trial), "--at", "1", "--model", script(work, "-", SUBMIT), "--json")
    (notice,) = notices(child)
    assert "gone are: background processes of 1.1: 1" in notice
    assert "files outside of the workspace" not in notice, "those of the host are still there"


def test_a_fork_names_paths_that_the_snapshots_could_not_read(work: Path) -> None:
    parent = solve(work, "echo a >a", SUBMIT)
    path = parent.trial / "events.jsonl"
    lines = path.read_text().splitlines(keepends=True)
    last = next(number for number, line in enumerate(lines) if '"type":"snapshot"' in line and '"step":1' in line)
    unread = [{"path": "closed", "why": "its directory cannot be read"}]
    lines[last] = json.dumps({**json.loads(lines[last]), "unread": unread}) + "\n"
    path.write_text("".join(lines))
    child = agent(work, "fork", str(parent.trial), "--at", "1", "--model", script(work, "-", SUBMIT), "--json")
    assert child.status == 0, child.err
    assert "closed: its directory cannot be read" in notices(child)[0]


@pytest.mark.docker
def test_a_fork_in_docker_tells_its_model_that_files_outside_are_gone(work: Path) -> None:
    options = ("--env", "docker", "--no-evaluate", "--model")
    parent = agent(work, "solve", "--task", "ledger", *options, script(work, "echo a >/tmp/a", SUBMIT), "--json")
    assert parent.status == 0, parent.err
    child = agent(work, "fork", str(parent.trial), "--at", "1", "--model", script(work, "-", SUBMIT), "--json")
    (notice,) = notices(child)
    assert "The files of the workspace are as they were; gone are: files outside of the workspace. From here" in notice


def test_a_resumed_trial_on_the_host_is_not_told_that_files_outside_are_gone(work: Path) -> None:
    finished = solve(work, "echo a >a", "cat a", SUBMIT).trial
    trial = cut(finished, work / "cut", line_of(finished, "snapshot") + 12)
    resumed = agent(work, "resume", str(trial), "--json")
    assert resumed.status == 0, resumed.err
    (event,) = [event for event in resumed.events if isinstance(event, Resumed)]
    assert not any("outside" in line for line in event.lost), event.lost


def test_a_tool_call_that_the_time_limit_cut_off_is_answered_in_a_fork(work: Path) -> None:
    parent = solve(work, ["echo a >a; sleep 3", "echo b >b"], SUBMIT, options=("--time-limit", "2s"))
    assert parent.json["exit"]["cause"] == "time"
    options = ("--time-limit", "5m", "--model", script(work, "-", SUBMIT))
    child = agent(work, "fork", str(parent.trial), "--at", "1", *options, "--json")
    assert child.status == 0, child.err
    (reply,) = [event for event in child.events if isinstance(event, InheritedReply)]
    asked = [call.id for call in reply.reply.tool_calls]
    answers = [
        event for event in child.events if isinstance(event, Message) and event.role == "tool" and event.inherited
    ]
    assert [event.tool_call_id for event in answers] == asked
    assert "did not run to its end" in answers[-1].content


@pytest.mark.slow
def test_ten_tries_are_made_again_after_a_resume(work: Path) -> None:
    """Before, each resume gave up after one try once ten had failed."""
    finished = solve(work, {"fail": {"error": "server_error", "retry_after_s": 0.01}}, SUBMIT).trial
    lines = (finished / "events.jsonl").read_text().splitlines(keepends=True)
    failed = next(number for number, line in enumerate(lines) if '"call_failed"' in line)
    started, ended = json.loads(lines[failed - 1]), json.loads(lines[failed])
    kept = lines[: failed - 1]
    for number in range(1, 11):  # as if the provider had been down for ten tries
        again = {"message_ids": started["message_ids"] if number == 1 else [], "try": number}
        kept.append(json.dumps({**started, **again, "seq": len(kept)}) + "\n")
        outcome = {"try": number, "seq": len(kept), "retry": number < 10, "wait_s": 0.0}
        kept.append(json.dumps({**ended, **outcome}) + "\n")
    exit_line = json.loads(
        lines[-1] if '"exit"' in lines[-1] else next(line for line in lines if '"type":"exit"' in line)
    )
    cause = {"reason": "infrastructure", "cause": "model_unavailable", "detail": "server_error"}
    kept.append(json.dumps({**exit_line, "seq": len(kept), "exit": cause, "steps": 0}) + "\n")
    (finished / "events.jsonl").write_text("".join(kept))
    model = json.loads((work / "script-0.json").read_text())
    fails = [model[0]] * 13 + [SUBMIT]  # three more after the ten
    (work / "script-0.json").write_text(json.dumps(fails))
    _trust_changed_script(finished, work / "script-0.json")
    resumed = agent(work, "resume", str(finished), "--json", timeout=300)
    assert resumed.status == 0, resumed.err
    tries = [event.try_ for event in resumed.events if isinstance(event, CallFailed)]
    assert tries == list(range(1, 14))
    assert resumed.json["exit"]["cause"] == "submitted"


def _trust_changed_script(trial: Path, path: Path) -> None:
    """Put the digest of a changed script into event 0."""
    import hashlib

    lines = (trial / "events.jsonl").read_text().splitlines(keepends=True)
    first = json.loads(lines[0])
    first["model"]["settings"]["sha256"] = hashlib.sha256(path.read_bytes()).hexdigest()
    (trial / "events.jsonl").write_text("".join([json.dumps(first) + "\n", *lines[1:]]))


def test_a_fork_of_an_import_that_died_before_its_first_call_is_resumed(work: Path) -> None:
    (work / "small.json").write_text(json.dumps(minimal()))
    parent = agent(work, "import", "small.json", "--json").json["trials"][0]["trial"]
    place = ("--workspace", "start", "--env", "local", "--inject", "look again")
    fork = agent(work, "fork", parent, "--at", "1", *place, "--model", script(work, "-", "ls", SUBMIT), "--json")
    assert fork.status == 0, fork.err
    for kind in ("env_started", "snapshot", "inherited_reply"):
        batch = work / kind / "runs" / "imported"
        trial = cut(fork.trial, work / kind, line_of(fork.trial, kind))
        batch.mkdir()
        (batch / Path(parent).name).symlink_to(work / parent)
        resumed = agent(work, "resume", str(trial), "--json")
        assert resumed.status == 0, (kind, resumed.err)
        assert (resumed.json["exit"]["cause"], resumed.json["steps"]) == ("submitted", 2)
        shown = [event for event in resumed.events if isinstance(event, Message)]
        original = [event for event in fork.events if isinstance(event, Message)]
        assert [event.content for event in shown if event.inherited] == [e.content for e in original if e.inherited]
        assert [event.content for event in shown if event.why == "hint"] == ["look again"]
        assert agent(work, "show", str(trial), "--check").status == 0, kind


def test_a_trial_whose_plan_was_not_kept_is_not_resumed_without_it(work: Path) -> None:
    (work / "plan.md").write_text("use hunter2hunter2")
    options = ("--plan", "plan.md")
    place = (
        "--instruction",
        "x",
        "--workspace",
        str(work / "start"),
        "--env",
        "local",
        "--model",
        script(work, SUBMIT),
    )
    finished = agent(work, "solve", *place, *options, "--json", STUDY_PASSWORD="hunter2hunter2")
    assert finished.status == 0, finished.err
    trial = cut(finished.trial, work / "cut", line_of(finished.trial, "message"))
    resumed = agent(work, "resume", str(trial))
    assert resumed.status == 2
    assert "its record lacks the plan" in " ".join(resumed.err.split())
    later = cut(finished.trial, work / "later", line_of(finished.trial, "call_started"))
    assert agent(work, "resume", str(later)).status == 0
