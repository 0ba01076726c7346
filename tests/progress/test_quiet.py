"""`--quiet` leaves out progress and the next command, and nothing else."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from agent.cli.main import app
from agent.cli.progress import progress_of_evaluation
from agent.cli.progress.person import PersonView
from agent.loop.actions import SUBMIT
from tests.packaging.test_help import commands
from tests.solve.command import script
from trajectories.record.events import ActionStarted, CallStarted, Paused, Warned

PRINTS_PROGRESS = {"batch", "solve", "resume", "fork", "rollout", "plan", "evaluate", "replay", "score", "analyze"}


def test_the_commands_that_print_progress_take_it() -> None:
    taking = {
        name for name, command in commands() if "--quiet" in {opt for each in command.params for opt in each.opts}
    }
    assert taking == {f"agent {verb}" for verb in PRINTS_PROGRESS}


def test_a_quiet_view_shows_warnings_only(capsys: pytest.CaptureFixture[str]) -> None:
    with progress_of_evaluation("trial-1", quiet=True) as view:
        view.note("suite: 13 of 60 tests")
        view.feed(Paused(why="down"))
        view.feed(Warned(kind="x", text="beware\x1b[2J"))
    assert capsys.readouterr().err == "note: beware␛[2J\n"


def test_a_quiet_trial_prints_its_result_and_its_warnings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "start").mkdir()
    line = ["solve", "--instruction", "do it", "--workspace", "start", "--env", "local"]
    line += ["--model", script(tmp_path, "ls", SUBMIT)]
    loud, quiet = (CliRunner().invoke(app, [*line, *more]) for more in ((), ("--quiet", "--json")))
    assert (loud.exit_code, quiet.exit_code) == (0, 0)
    assert "step 1 " in loud.stderr
    assert "next: agent show " in loud.stderr
    assert [text[:16] for text in quiet.stderr.splitlines()] == ["note: unconfined"]
    assert json.loads(quiet.stdout)["steps"] == 2


def test_a_person_is_told_what_runs_before_the_first_prompt(capsys: pytest.CaptureFixture[str]) -> None:
    view = PersonView()
    started = ActionStarted(action="3.1", step=3, number=1, script="sleep 100\nls", deadline_s=180)
    view.feed(started)
    view.feed(CallStarted.model_construct(call="4"))
    view.feed(started)
    assert capsys.readouterr().err == "running the interrupted command again: sleep 100 ls\n"
