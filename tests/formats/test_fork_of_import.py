"""A fork of an imported trial: its commands are run again in the workspace that the user names."""

from __future__ import annotations

import json
import socket
from pathlib import Path
from typing import Any

import pytest

from agent.continuation.fork import fork
from agent.loop.actions import SUBMIT
from tests.formats.test_export import minimal
from tests.solve.command import CommandResult, agent, script
from tests.wire.replies import Turn
from tests.wire.server import WireServer
from trajectories.formats.trial import import_file
from trajectories.reading.reader import read_events
from trajectories.record.events import InheritedReply, Limits, Message, TrialStarted, Warned

FILE = "mini-swe-agent/v2-marshmallow/chat.marshmallow-code__marshmallow-1343.traj.json"


@pytest.fixture
def imported(tmp_path: Path, shared_data: Path) -> Path:
    run = agent(tmp_path, "import", str(shared_data / FILE))
    assert run.status == 0, run.err
    (tmp_path / "begin").mkdir()
    return next(tmp_path.glob("runs/imported/*/events.jsonl")).parent


def test_the_fork_runs_the_imported_commands_again(imported: Path, tmp_path: Path) -> None:
    parent = [event for event in read_events(imported) if isinstance(event, Message)]
    model = script(tmp_path, *["-"] * 5, "ls", SUBMIT)
    run = agent(
        tmp_path, "fork", str(imported), "--at", "5", "--workspace", "begin", "--env", "local", "--model", model,
        "--inject", "look again", "--json",
    )  # fmt: skip
    assert run.status == 0, run.err
    assert (run.json["steps"], run.json["commands"]) == (2, 1)
    messages = [event for event in run.events if isinstance(event, Message)]
    inherited = [event.content for event in messages if event.inherited]
    assert inherited == [event.content for event in parent][: len(inherited)]
    assert sum(isinstance(event, InheritedReply) for event in run.events) == 5
    assert [event.content for event in messages if event.why == "hint"] == ["look again"]
    assert any(
        "reproduce_issue.py" in event.content for event in messages if event.action == "1.1" and not event.inherited
    )
    assert any(event.kind == "rerun_differs" for event in run.events if isinstance(event, Warned))
    assert agent(tmp_path, "show", str(run.trial), "--check").status == 0


@pytest.mark.parametrize("action", ["fenced", "tool"])
def test_a_fork_of_fenced_replies_is_told_its_own_format(tmp_path: Path, shared_data: Path, action: str) -> None:
    """The imported task asks for blocks of `bash`, which a prompt of version 2 does not run."""
    run = agent(tmp_path, "import", str(shared_data / "mini-swe-agent/v1/rfc-mini-1.13.4.traj.json"))
    assert run.status == 0, run.err
    (tmp_path / "begin").mkdir()
    trial = next(tmp_path.glob("runs/imported/*/events.jsonl")).parent
    parent = [event.content for event in read_events(trial) if isinstance(event, Message) and event.why == "task"]
    assert "```bash" in parent[0]
    commands = ("echo hi >>log", SUBMIT)
    turns = [
        Turn(text=f"```retrace_bash\n{command}\n```") if action == "fenced" else Turn(commands=(command,))
        for command in commands
    ]
    with WireServer(turns) as server:
        fork = agent(
            tmp_path, "fork", str(trial), "--at", "1", "--workspace", "begin", "--env", "local", "--json",
            "--model", "openai/gpt-4o-mini", "--api-base", server.base("chat"), "--model-setting", f"action={action}",
        )  # fmt: skip
    assert fork.status == 0, fork.err
    assert (fork.json["exit"]["cause"], fork.json["commands"]) == ("submitted", 1)
    (task,) = [event.content for event in fork.events if isinstance(event, Message) and event.why == "task"]
    assert ("```retrace_bash" in task) == (action == "fenced")


@pytest.mark.parametrize("argv", [(), ("--image", "x", "--env", "local")])
def test_a_missing_workspace_is_one_line(imported: Path, tmp_path: Path, argv: tuple[str, ...]) -> None:
    run = agent(tmp_path, "fork", str(imported), "--at", "5", "--model", script(tmp_path, SUBMIT), *argv)
    assert run.status == 2
    assert len(run.err.strip().splitlines()) == 1


def fork_of(tmp_path: Path, config: dict[str, Any], *options: str) -> CommandResult:
    """Import a small run with this configuration, and fork it after its only step, over an empty directory."""
    value = minimal()
    value["info"]["config"] = config
    (tmp_path / "small.json").write_text(json.dumps(value))
    trial = agent(tmp_path, "import", "small.json", "--json").json["trials"][0]["trial"]
    (tmp_path / "begin").mkdir()
    place = ("--workspace", "begin", "--env", "local", "--model", script(tmp_path, "-", "env", SUBMIT))
    run = agent(tmp_path, "fork", trial, "--at", "1", *place, *options, "--json")
    assert run.status == 0, run.err
    return run


def start(run: CommandResult) -> TrialStarted:
    first = run.events[0]
    assert isinstance(first, TrialStarted)
    return first


@pytest.mark.parametrize(
    ("config", "limit", "value"),
    [
        ({"agent": {"cost_limit": 3.0}}, "cost_usd", 3.0),
        ({"agent": {"step_limit": 250}}, "steps", 250),
        ({"agent": {"wall_time_limit_seconds": 900}}, "time_s", 900.0),
        ({"environment": {"timeout": 60}}, "command_s", 60.0),
    ],
)
def test_a_fork_keeps_each_limit_of_an_import(tmp_path: Path, config: Any, limit: str, value: float) -> None:
    assert getattr(start(fork_of(tmp_path, config)).limits, limit) == value


def test_a_limit_that_the_file_does_not_hold_is_the_default(tmp_path: Path) -> None:
    assert start(fork_of(tmp_path, {})).limits == Limits()


def test_an_option_replaces_a_limit_of_the_import(tmp_path: Path) -> None:
    run = fork_of(tmp_path, {"agent": {"step_limit": 250, "cost_limit": 3.0}}, "--step-limit", "7", "--cost-limit", "1")
    assert (start(run).limits.steps, start(run).limits.cost_usd) == (7, 1.0)


def test_a_fork_keeps_the_environment_variables_of_an_import(tmp_path: Path) -> None:
    run = fork_of(tmp_path, {"environment": {"env": {"PAGER": "cat", "STUDY_LEVEL": "7"}}})
    assert start(run).environment_spec["env"] == {"PAGER": "cat", "STUDY_LEVEL": "7"}
    assert any("STUDY_LEVEL=7" in event.content for event in run.events if isinstance(event, Message))


def test_a_fork_keeps_the_settings_of_an_imports_model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Those that a model can be given here; the others are named in a warning."""
    value = minimal()
    kwargs = {"temperature": 0.5, "drop_params": True}
    value["info"]["config"] = {"model": {"model_name": "openai/gpt-4o", "model_kwargs": kwargs}}
    (tmp_path / "small.json").write_text(json.dumps(value))
    parent = import_file(tmp_path / "small.json", tmp_path / "runs" / "imported").directory
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    (tmp_path / "begin").mkdir()
    with socket.create_server(("127.0.0.1", 0)) as listener:  # nothing is asked: only its port must be open
        api_base = f"http://127.0.0.1:{listener.getsockname()[1]}/v1"
        order, start = fork(parent, 1, workspace=tmp_path / "begin", env="local", api_base=api_base)
        assert order.model.info.ref.settings == {"temperature": 0.5}
        assert start.not_kept == ("drop_params",)
        other = "openai/gpt-4o-mini"
        order, start = fork(parent, 1, workspace=tmp_path / "begin", env="local", api_base=api_base, model=other)
        assert (order.model.info.ref.settings, start.not_kept) == ({}, ())


def test_a_cost_limit_of_the_import_can_be_lifted(tmp_path: Path) -> None:
    run = fork_of(tmp_path, {"agent": {"cost_limit": 3.0}}, "--cost-limit", "none")
    assert start(run).limits.cost_usd is None


@pytest.mark.parametrize("variables", [{"A=B": "c"}, {"": "c"}, {"A": "b\0c"}])
def test_an_impossible_variable_of_an_import_is_one_line(tmp_path: Path, variables: dict[str, str]) -> None:
    value = minimal()
    value["info"]["config"] = {"environment": {"env": variables}}
    (tmp_path / "small.json").write_text(json.dumps(value))
    trial = agent(tmp_path, "import", "small.json", "--json").json["trials"][0]["trial"]
    (tmp_path / "begin").mkdir()
    place = ("--workspace", "begin", "--env", "local", "--model", script(tmp_path, "-", SUBMIT))
    run = agent(tmp_path, "fork", trial, "--at", "1", *place)
    assert (run.status, len(run.err.strip().splitlines())) == (2, 1), run.err
    assert "environment variable" in run.err


def test_forks_of_an_import_leave_its_batch_scorable(tmp_path: Path) -> None:
    run = fork_of(tmp_path, {})
    assert run.trial.parent.name == "imported-forks"
    scored = agent(tmp_path, "score", "imported")
    assert "score one benchmark at a time" not in scored.err


def test_only_a_fork_with_a_hint_is_labelled_so(tmp_path: Path) -> None:
    plain = fork_of(tmp_path, {})
    parent = str(tmp_path / "runs" / "imported-forks" / plain.trial.name)
    model = script(tmp_path, "-", "-", SUBMIT)
    hinted = agent(tmp_path, "fork", parent, "--at", "1", "--model", model, "--inject", "look again", "--json")
    assert hinted.status == 0, hinted.err
    labels = [run.json["entry"]["label"].split()[-1] for run in (plain, hinted)]
    assert labels == ["+fork", "+hint"]
    assert plain.json["entry"]["setup"] != hinted.json["entry"]["setup"]


def test_the_warning_about_another_end_is_a_sentence(imported: Path, tmp_path: Path) -> None:
    model = script(tmp_path, *["-"] * 5, SUBMIT)
    place = ("--workspace", "begin", "--env", "local", "--model", model)
    run = agent(tmp_path, "fork", str(imported), "--at", "5", *place, "--json")
    texts = [event.text for event in run.events if isinstance(event, Warned) and event.kind == "rerun_differs"]
    assert any(text.endswith("ended otherwise: exit code 1, before: exit code 0") for text in texts), texts
