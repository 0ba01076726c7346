"""`agent solve --shell persistent`: the prompt describes the shell, its state persists, and its loss is recorded."""

from __future__ import annotations

from pathlib import Path

from agent.loop.actions import SUBMIT
from tests.solve.command import agent, script


def test_the_commands_of_a_trial_share_one_shell_until_it_exits(tmp_path: Path) -> None:
    (tmp_path / "start").mkdir()
    model = script(
        tmp_path, "cd /; x=1", "echo $PWD $x", "read y; sleep 100", "echo $x", "exit 4", "echo ${x-gone}", SUBMIT
    )
    options = ("--instruction", "Say hello.", "--workspace", "start", "--env", "local")
    result = agent(
        tmp_path, "solve", *options, "--model", model, "--shell", "persistent", "--command-timeout", "1s", "--json"
    )
    assert result.status == 0, result.err
    finished = [event for event in result.events if event.type == "action_finished"]
    assert [event.output.text for event in finished] == ["", "/ 1\n", "", "1\n", "", "gone\n"]
    assert [event.shell_lost is not None for event in finished] == [False, False, False, False, True, False]
    assert finished[2].ended == "deadline"
    start = next(event for event in result.events if event.type == "trial_started")
    assert start.environment_spec["shell"] == "persistent"
    started = next(event for event in result.events if event.type == "env_started")
    assert "persistent-shell" in started.promises
    messages = [event.content for event in result.events if event.type == "message"]
    assert "one shell" in messages[1]
    assert any("variables and functions are gone" in text for text in messages)
