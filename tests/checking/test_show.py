"""`agent tasks show` prints the format of a task, what is judged, and the settings that apply, for every format."""

from __future__ import annotations

import json

import pytest
from typer.testing import CliRunner

from agent.cli.main import app
from benchmarks.task.registry import resolve_task
from benchmarks.task.settings import TaskSettings
from benchmarks.task.task import TaskError
from tests.families.terminalbench_samples import TASKS

ANY = {"--overlay", "--base-image", "--test-timeout-multiplier"}
GIVEN = {
    "--overlay": TaskSettings(overlay=TASKS),
    "--base-image": TaskSettings(base_images={"a": "b"}),
    "--test-timeout-multiplier": TaskSettings(timeout_multiplier=2.0),
    "--isolated-verifier": TaskSettings(isolated=True),
}


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("demo/ledger", ("retrace", "workspace", ["archive"], set())),
        (TASKS / "longcli/tally", ("terminal-bench", "workspace", ["archive"], ANY)),
        (TASKS / "terminal-bench/count-lines", ("terminal-bench", "system", ["live", "image"], GIVEN.keys())),
        (TASKS / "harbor/greeting", ("harbor", "system", ["live", "image"], GIVEN.keys())),
    ],
)
def test_the_settings_that_apply_are_those_that_the_task_accepts(path, expected) -> None:
    result = CliRunner().invoke(app, ["tasks", "show", str(path), "--json"], prog_name="agent", standalone_mode=False)
    assert result.exception is None
    shown = json.loads(result.stdout)
    settings = set(shown["settings"])
    assert (shown["format"], shown["result"], shown["submissions"], settings) == expected
    for option, given in GIVEN.items():
        try:
            resolve_task(str(path), given)
            accepted = True
        except TaskError:
            accepted = False
        assert accepted == (option in settings), option
    text = CliRunner().invoke(app, ["tasks", "show", str(path)], prog_name="agent", standalone_mode=False).stdout
    assert "the model sees, inside of the prompt" in text
    assert f"format: {shown['format']}" in text
