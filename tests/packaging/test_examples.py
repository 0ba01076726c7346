"""The examples in the help of each command do what they promise."""

from __future__ import annotations

import json
import shlex
import shutil
from glob import glob
from pathlib import Path

import pytest
from typer.testing import CliRunner

from agent import config
from agent.cli.examples import EXAMPLES, PAGES
from agent.cli.main import app
from agent.models.aliases import load_aliases
from agent.models.choose import FREE_MODELS
from benchmarks.demos import DEMO
from benchmarks.task.registry import resolve_task
from tests.packaging.test_help import APPLICATION, COMMANDS, CONTEXT
from tests.scoring.records import record

RECORD = Path(__file__).parents[1] / "records/v1.1/single/task.script.1930c962.1"
"""A trial with snapshots of its five steps, and with a verdict of which a test failed."""
LINES = [(words, line) for words, examples in EXAMPLES.items() for _, line in examples]
STARTS_AN_ENVIRONMENT = ("plan", "solve", "resume", "fork", "rollout", "replay", "evaluate", "batch")

MAKES_AN_IMAGE = ("tasks", "make", "rebuild")
"""Beginning of commands that need Docker; tests/rebuild runs them."""


@pytest.fixture
def work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder as the examples expect it.

    It has two folders with a trial of `ledger`, one with a demo, a file to import, two datasets and a folder of tasks.
    """
    shutil.copytree(DEMO.root / "ledger", tmp_path / "LongCLI-Bench/tasks_long_cli/ledger")
    shutil.copytree(Path(__file__).parents[1] / "making/tasks/visits", tmp_path / "my-tasks/visits")
    (tmp_path / "config").mkdir()
    (tmp_path / "config/config.yaml").write_text(f"datasets:\n  terminal-bench: {tmp_path}/LongCLI-Bench\n")
    shutil.copytree(RECORD, tmp_path / "runs/single/ledger.script.0123.1")
    shutil.copytree(tmp_path / "runs", tmp_path / "studies/june")
    record(tmp_path / "runs/demos", "figlet", benchmark="demo")
    messages = [{"role": "system", "content": "s"}, {"role": "user", "content": "task"}]
    (tmp_path / "run.traj.json").write_text(
        json.dumps({"trajectory_format": "mini-swe-agent-1", "info": {}, "messages": messages})
    )
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("RETRACE_CONFIG_DIR", str(tmp_path / "config"))
    config.defaults.cache_clear()
    return tmp_path


def test_every_command_has_examples_and_a_page() -> None:
    words = {name.removeprefix("agent").strip() for name in COMMANDS}
    assert set(EXAMPLES) == words
    assert set(PAGES) == words


@pytest.mark.parametrize(("words", "line"), LINES)
def test_an_example_belongs_to_its_command_and_fits_the_line(words: str, line: str) -> None:
    assert f"{line} ".startswith(f"agent {words} " if words else "agent ")
    assert len(line) <= 78


def test_the_examples_that_start_an_environment_have_valid_options() -> None:
    for _, line in LINES:
        verb, *arguments = shlex.split(line)[1:]
        if verb in STARTS_AN_ENVIRONMENT:
            values = APPLICATION.get_command(CONTEXT, verb).make_context(verb, arguments).params
            model, task = values.get("model"), values.get("task")
            assert model is None or model in (*load_aliases(), *FREE_MODELS), line
            assert task is None or resolve_task(task), line


@pytest.mark.usefixtures("work")
def test_all_other_examples_run() -> None:
    """A price snapshot is made before it is listed."""
    ran = 0
    for _, line in sorted(LINES, key=lambda pair: pair[0] != "prices snapshot"):
        arguments = shlex.split(line.partition(" > ")[0])[1:]
        if arguments[0] not in STARTS_AN_ENVIRONMENT and tuple(arguments[:3]) != MAKES_AN_IMAGE:
            arguments = [path for word in arguments for path in (glob(word) or [word])]  # as a shell does
            result = CliRunner().invoke(app, arguments, prog_name="agent", standalone_mode=False)
            assert result.exception is None, (line, result.output, result.exception)
            assert not result.return_value, (line, result.output)
            ran += 1
    assert ran > 30
