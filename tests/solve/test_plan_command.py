"""`agent plan` from outside: over the wire, by a script, by a person, refused, interrupted, and killed in flight."""

from __future__ import annotations

import json
import os
import pty
import signal
import subprocess
import time
from pathlib import Path

import pytest
from typer.testing import CliRunner

from agent import config
from agent.cli.main import app, explain
from tests.solve.command import AGENT, CommandResult, environment, script
from tests.wire.replies import Turn, bad_key, server_error
from tests.wire.server import WireServer
from trajectories.blobs.store import BlobStore
from trajectories.reading.plans.record import PlanRecord, read_plan
from trajectories.reading.reader import read_role_events
from trajectories.record.events import SCHEMA_VERSION, RoleCallStarted, RoleRecordStarted

WORKSPACE = Path(__file__).parents[2] / "benchmarks/demos/tasks/cronwhen/workspace"
TASK = ("--task", "demo/ledger", "--env", "sandbox")
PLAN = "1. Read the task again.\n2. Sort the accounts by name."
CODE = "1. Write it:\n```\nprint(1)\n```"
OPUS = "anthropic/claude-opus-4-7"
GPT = "openai/gpt-5.4"


@pytest.fixture(autouse=True)
def _in_an_empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("RETRACE_CONFIG_DIR", str(tmp_path / "config"))
    config.defaults.cache_clear()


def agent(folder: Path, *argv: str, **extra: str) -> CommandResult:
    """Run `agent ARGV` in this process, and explain an error as the command does."""
    result = CliRunner().invoke(app, argv, prog_name="agent", standalone_mode=False, env=extra)
    if result.exception is None:
        return CommandResult(folder, 0, result.stdout, result.stderr)
    assert isinstance(result.exception, Exception), result.exception
    line, status = explain(result.exception)
    return CommandResult(folder, status, result.stdout, f"{result.stderr}agent: {line}\n")


def planned(folder: Path, model: str, *options: str, **extra: str) -> CommandResult:
    return agent(folder, "plan", *TASK, "--model", model, "--json", *options, **extra)


def plan(folder: Path) -> PlanRecord:
    (directory,) = (folder / "runs" / "plans").iterdir()
    return read_plan(directory)


def test_a_plan_of_a_script_is_recorded_written_shown_and_not_listed_as_a_trial(tmp_path: Path) -> None:
    run = planned(tmp_path, script(tmp_path, {"text": PLAN}), "--output", "own.md")
    assert run.status == 0, run.err
    assert (run.json["record"], run.json["text"], run.json["author"]) == ("ledger.script.1", PLAN, "model")
    assert (run.json["rule"], run.json["costs"]["billed"], run.json["calls"][0]["try"]) == ("no-code", 0, 1)
    folder = tmp_path / run.json["path"]
    assert (folder / "plan.md").read_text() == f"{PLAN}\n" == (tmp_path / "own.md").read_text()
    start, *_ = read_role_events(folder)
    assert isinstance(start, RoleRecordStarted)
    assert (start.role, start.task.id, start.schema_version) == ("planner", "demo/ledger", SCHEMA_VERSION)
    assert sorted(path.name for path in folder.iterdir()) == ["blobs", "events.jsonl", "lock", "plan.md"]
    shown = agent(tmp_path, "show", "plans/ledger.script.1")
    assert shown.out.startswith(PLAN)
    assert "no-code" in shown.out
    assert agent(tmp_path, "show", "ledger", "--json").json == run.json
    assert agent(tmp_path, "show", str(folder), "--check").out == "consistent: 3 events, finished\n"
    assert agent(tmp_path, "trials", "--json").json == {"trials": []}
    (folder / "plan.md").unlink()
    assert agent(tmp_path, "show", "ledger", "--json").json["plan_file"] is None
    assert agent(tmp_path, "show", "ledger", "--rebuild").out == shown.out
    assert (folder / "plan.md").read_text() == f"{PLAN}\n"
    assert agent(tmp_path, "show", "ledger", "--step", "1").status == 2


def test_the_planner_sees_the_instruction_and_the_names_of_files_but_not_their_content(tmp_path: Path) -> None:
    with WireServer([Turn(text=PLAN)]) as server:
        options = ("--task", "demo/cronwhen", "--env", "sandbox", "--model", GPT, "--api-base", server.v1)
        run = agent(tmp_path, "plan", *options, OPENAI_API_KEY="sk-wire")
    assert run.status == 0, run.err
    sent = json.dumps(server.requests[0].body["messages"])
    size = (WORKSPACE / "cronwhen" / "cli.py").stat().st_size
    assert f"cronwhen/cli.py ({size} bytes)" in sent
    assert "import argparse" in (WORKSPACE / "cronwhen" / "cli.py").read_text()
    assert "import argparse" not in sent
    assert "tools" not in server.requests[0].body


@pytest.mark.parametrize(("protocol", "model"), [("anthropic", OPUS), ("chat", GPT)])
def test_over_the_wire_each_request_is_priced_and_recorded_before_it_leaves(
    tmp_path: Path, protocol: str, model: str
) -> None:
    recorded_before: list[int] = []

    def reply(body: object) -> Turn:
        (events,) = (tmp_path / "runs" / "plans").glob("*/events.jsonl")
        recorded_before.append(events.read_text().count('"type":"role_call_started"'))
        return Turn(text=CODE if len(recorded_before) == 1 else PLAN)

    with WireServer(reply) as server:
        keys = {"OPENAI_API_KEY": "sk-wire", "ANTHROPIC_API_KEY": "sk-wire"}
        run = planned(tmp_path, model, "--api-base", server.base(protocol), **keys)
    assert run.status == 0, run.err
    assert recorded_before == [1, 2]
    record = plan(tmp_path)
    assert [call.status for call in record.calls] == ["malformed", "answered"]
    assert record.calls[0].detail == "line 2 breaks the rule no-code (fenced block): ```"
    assert record.prices is not None
    costs = [call.costs.computed or 0 for call in record.calls if call.costs]
    assert min(costs) > 0
    assert record.costs.computed == pytest.approx(sum(costs))
    again = json.dumps(server.requests[1].body["messages"])
    assert "line 2 counts as code" in again
    calls = [event for event in read_role_events(record.path) if isinstance(event, RoleCallStarted)]
    kept = json.loads(BlobStore(record.path / "blobs").get(calls[1].request or ""))
    assert [message["role"] for message in kept] == ["system", "user", "assistant", "user"]


def test_a_failing_provider_is_tried_again_and_a_permanent_failure_ends_with_one_line(tmp_path: Path) -> None:
    with WireServer([server_error(), Turn(text=PLAN)]) as server:
        run = planned(tmp_path, GPT, "--api-base", server.v1, OPENAI_API_KEY="sk-wire")
    assert run.status == 0, run.err
    assert [(call.try_, call.status) for call in plan(tmp_path).calls] == [(1, "failed"), (2, "answered")]
    with WireServer([bad_key()]) as server:
        run = planned(tmp_path, GPT, "--api-base", server.v1, "-q", OPENAI_API_KEY="sk-wire")
    assert (run.status, len(run.err.splitlines())) == (1, 1)
    assert "gave no plan: auth" in run.err
    assert agent(tmp_path, "show", "plans/ledger.gpt-5-4.2", "--json").json["text"] is None


@pytest.mark.parametrize(
    ("reply", "reason"),
    [
        ({"text": CODE}, "breaks the rule no-code"),
        ({"text": "  "}, "the plan is empty"),
        ({"text": "", "refusal": "I must not."}, "the model refused: I must not."),
        ("ls", "the plan is empty"),
    ],
)
def test_a_reply_that_cannot_be_used_is_asked_for_again_twice(tmp_path: Path, reply: object, reason: str) -> None:
    run = planned(tmp_path, script(tmp_path, *[reply] * 4), "-q")
    assert (run.status, run.out, len(run.err.splitlines())) == (1, "", 1)
    assert reason in run.err
    record = plan(tmp_path)
    assert [call.status for call in record.calls] == ["malformed"] * 3
    assert record.text is None
    assert not (record.path / "plan.md").exists()
    assert "no plan came of this record" in refused(tmp_path, "--plan", f"plans/{record.record}")


def test_without_a_rule_code_may_stand_in_a_plan(tmp_path: Path) -> None:
    run = planned(tmp_path, script(tmp_path, {"text": CODE}), "--plan-rule", "none")
    assert (run.status, run.json["rule"], run.json["text"]) == (0, "none", CODE)


def refused(folder: Path, *options: str) -> str:
    run = agent(folder, "solve", *TASK, "--model", "nop", *options)
    assert (run.status, len(run.err.splitlines())) == (2, 1), run.err
    return run.err


def test_mistakes_are_named_before_anything_starts(tmp_path: Path) -> None:
    (tmp_path / "code.md").write_text("Do it.\nx = f(1)\n")
    assert "line 2 breaks the rule no-code (line of code): x = f(1)" in refused(
        tmp_path, "--plan", "code.md", "--plan-rule", "no-code"
    )
    assert "goes with --plan FILE" in refused(tmp_path, "--plan-rule", "none")
    assert "is not one of" in refused(tmp_path, "--plan", "code.md", "--plan-rule", "nocode")
    assert "'plans' cannot name a batch" in refused(tmp_path, "--batch", "plans")
    for model in ("oracle", "nop", "replay:x"):
        run = planned(tmp_path, model)
        assert (run.status, "writes no plans" in run.err) == (2, True), run.err
    assert planned(tmp_path, script(tmp_path, {"text": PLAN}), "--output", "no/such/dir.md").status == 2
    assert not (tmp_path / "runs").exists()


def test_a_kill_in_flight_leaves_a_record_whose_cost_is_unknown(tmp_path: Path) -> None:
    with WireServer(lambda body: Turn(text=PLAN, delay_s=30)) as server:
        process = started(tmp_path, server)
        process.kill()
        process.wait()
    record = plan(tmp_path)
    assert (record.without_result, record.text, record.costs.computed) == ((1,), None, None)
    shown = agent(tmp_path, "show", "plans/ledger", "--json")
    assert (shown.json["costs"]["computed"], shown.json["calls"][0]["status"]) == (None, None)
    assert "request 1: no result is recorded, so its cost is unknown" in agent(tmp_path, "show", "plans/ledger").out
    assert agent(tmp_path, "show", "plans/ledger", "--check").status == 0


def test_ctrl_c_closes_the_record_and_exits_with_130(tmp_path: Path) -> None:
    with WireServer(lambda body: Turn(text=PLAN, delay_s=30)) as server:
        process = started(tmp_path, server)
        process.send_signal(signal.SIGINT)
        assert process.wait(30) == 130
    (call,) = plan(tmp_path).calls
    assert (call.status, call.detail) == ("cut_off", "interrupted by the user")
    assert call.costs is not None
    assert call.costs.best is None


def started(folder: Path, server: WireServer, requests: int = 1) -> subprocess.Popen[bytes]:
    """Return the command while this request is under way."""
    command = [*AGENT, "plan", *TASK, "--model", GPT, "--api-base", server.v1, "-q"]
    process = subprocess.Popen(command, cwd=folder, env=environment(folder, OPENAI_API_KEY="sk-wire"))
    deadline = time.monotonic() + 60
    while len(server.requests) < requests:
        assert time.monotonic() < deadline
        time.sleep(0.02)
    return process


def test_a_person_types_a_plan_into_a_pipe(tmp_path: Path) -> None:
    command = [*AGENT, "plan", *TASK, "--model", "human"]
    run = subprocess.run(
        command, cwd=tmp_path, env=environment(tmp_path), input=PLAN, capture_output=True, text=True, timeout=60
    )
    assert (run.returncode, run.stdout) == (0, f"{PLAN}\n"), run.stderr
    assert "cash book" in run.stderr, "the task is shown"
    record = plan(tmp_path)
    assert (record.author, record.costs.best, record.record) == ("person", 0, "ledger.human.1")
    nothing = subprocess.run(
        command, cwd=tmp_path, env=environment(tmp_path), input="", capture_output=True, text=True, timeout=60
    )
    assert (nothing.returncode, "the person wrote nothing" in nothing.stderr) == (1, True)


def test_a_person_writes_in_the_editor_and_again_after_a_refusal(tmp_path: Path) -> None:
    editor = tmp_path / "editor"
    editor.write_text('#!/bin/sh\nif [ -s "$1" ]; then echo "Run the tests." > "$1"; else echo "x = f(1)" > "$1"; fi\n')
    editor.chmod(0o755)
    pid, terminal = pty.fork()
    if pid == 0:
        os.chdir(tmp_path)
        os.execve(
            AGENT[0],
            [*AGENT, "plan", *TASK, "--model", "human"],
            environment(tmp_path, EDITOR=str(editor), TERM="dumb"),
        )
    seen = b""
    while True:
        try:
            piece = os.read(terminal, 65536)
        except OSError:
            break
        if not piece:
            break
        seen += piece
    _, status = os.waitpid(pid, 0)
    assert os.waitstatus_to_exitcode(status) == 0, seen.decode()
    record = plan(tmp_path)
    assert [call.status for call in record.calls] == ["malformed", "answered"]
    assert record.text == "Run the tests."


def test_a_secret_in_a_plan_is_masked_in_the_record_and_beside_it(tmp_path: Path) -> None:
    secret = "sk-veryverysecret0123456789"
    text = f"1. Use the key {secret} of the service."
    run = planned(tmp_path, script(tmp_path, {"text": text}), "--output", "own.md", SERVICE_API_KEY=secret)
    assert run.status == 0, run.err
    everything = [path for path in (tmp_path / "runs").rglob("*") if path.is_file()] + [tmp_path / "own.md"]
    assert all(secret.encode() not in path.read_bytes() for path in everything)
    assert secret not in run.out + run.err


def killed_after(folder: Path, server: WireServer, requests: int) -> Path:
    """Kill `agent plan` while this request is in flight; return its record."""
    process = started(folder, server, requests)
    process.kill()
    process.wait()
    (directory,) = (folder / "runs" / "plans").iterdir()
    return directory


def test_a_killed_plan_is_resumed_without_asking_again_for_a_reply_that_came(tmp_path: Path) -> None:
    with WireServer([Turn(text=CODE), Turn(text=PLAN, delay_s=30)]) as server:
        directory = killed_after(tmp_path, server, 2)
    with WireServer([Turn(text=PLAN)]) as server:
        resumed = agent(tmp_path, "resume", f"plans/{directory.name}", "--api-base", server.base("chat"), "--json")
        assert resumed.status == 0, resumed.err
        (request,) = server.requests
    sent = [(message["role"], message["content"]) for message in request.body["messages"]]
    assert [role for role, _ in sent] == ["system", "user", "assistant", "user"]
    assert sent[2][1] == CODE
    assert "line 2 counts as code" in sent[3][1]
    record = read_plan(directory)
    assert record.text == PLAN
    assert [(call.status, call.try_) for call in record.calls] == [("malformed", 1), (None, 1), ("answered", 2)]
    assert record.without_result == (2,)
    assert record.costs.computed is None
    assert (directory / "plan.md").read_text() == PLAN + "\n"
    again = agent(tmp_path, "resume", str(directory), "--json")
    assert (again.status, again.json["text"]) == (0, PLAN)
    assert "nothing to resume" in again.err
    assert agent(tmp_path, "show", str(directory), "--check").status == 0


def test_a_plan_killed_right_after_a_refused_reply_is_asked_for_again_with_its_line(tmp_path: Path) -> None:
    with WireServer([Turn(text=CODE), Turn(text=PLAN, delay_s=30)]) as server:
        directory = killed_after(tmp_path, server, 2)
    events = (directory / "events.jsonl").read_bytes().splitlines(keepends=True)
    (directory / "events.jsonl").write_bytes(b"".join(events[:3]))  # as if killed one event earlier
    with WireServer([Turn(text=PLAN)]) as server:
        assert agent(tmp_path, "resume", str(directory), "--api-base", server.base("chat")).status == 0
        (request,) = server.requests
    assert [message["role"] for message in request.body["messages"]] == ["system", "user", "assistant", "user"]
    assert [(call.status, call.try_) for call in read_plan(directory).calls] == [("malformed", 1), ("answered", 1)]


def test_a_plan_without_a_request_or_a_reply_left_is_not_resumed(tmp_path: Path) -> None:
    with WireServer([Turn(text=CODE)] * 3) as server:
        assert planned(tmp_path, GPT, "--api-base", server.base("chat")).status == 1
    (directory,) = (tmp_path / "runs" / "plans").iterdir()
    exhausted = agent(tmp_path, "resume", str(directory))
    assert (exhausted.status, "none of 3 replies can be used; make another plan" in exhausted.err) == (2, True)
    events = (directory / "events.jsonl").read_bytes().splitlines(keepends=True)
    (directory / "events.jsonl").write_bytes(events[0])
    unasked = agent(tmp_path, "resume", str(directory))
    assert (unasked.status, "died before anything was asked; make another plan" in unasked.err) == (2, True)
