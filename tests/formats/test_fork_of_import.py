"""A fork of an imported trial: its commands are run again in the workspace that the user names."""

from __future__ import annotations

from pathlib import Path

import pytest

from agent.loop.actions import SUBMIT
from tests.solve.command import agent, script
from trajectories.reading.reader import read_events
from trajectories.record.events import InheritedReply, Message, Warned

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


@pytest.mark.parametrize("argv", [(), ("--image", "x", "--env", "local")])
def test_a_missing_workspace_is_one_line(imported: Path, tmp_path: Path, argv: tuple[str, ...]) -> None:
    run = agent(tmp_path, "fork", str(imported), "--at", "5", "--model", script(tmp_path, SUBMIT), *argv)
    assert run.status == 2
    assert len(run.err.strip().splitlines()) == 1
