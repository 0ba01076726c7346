"""`agent tasks show` prints the format of a task, what is judged, and the settings that apply, for every format."""

from __future__ import annotations

import json
import re
from pathlib import Path

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


def test_a_task_with_mistakes_does_not_take_the_others(tmp_path: Path) -> None:
    (tmp_path / "broken").mkdir()
    (tmp_path / "broken/task.toml").write_text("[agent]\ntimeout_sec = 'x'\n")
    words = ["tasks", "show", "demo/ledger", str(tmp_path / "broken"), str(TASKS / "harbor/greeting")]
    result = CliRunner().invoke(app, [*words, "--json"], prog_name="agent")
    shown = json.loads(result.stdout)
    assert result.exit_code == 2
    assert [task["id"] for task in shown["tasks"]] == ["demo/ledger", "path/greeting"]
    assert len(shown["broken"]) == 1
    assert f"{tmp_path}/broken/task.toml: line 2: agent.timeout_sec: " in shown["broken"][0]
    text = CliRunner().invoke(app, words, prog_name="agent")
    assert text.exit_code == 2
    assert "id: path/greeting" in text.stdout
    assert "broken/task.toml: line 2" in text.stderr


def test_an_overlay_and_base_images_show_what_would_run(tmp_path: Path) -> None:
    (tmp_path / "instruction.md").write_text("Another text.")
    (tmp_path / "environment").mkdir()
    options = ["--overlay", str(tmp_path), "--base-image", "debian:bookworm-slim=mirror/debian:1"]
    shown = [
        json.loads(CliRunner().invoke(app, ["tasks", "show", str(TASKS / "harbor/greeting"), "--json", *more]).stdout)
        for more in ([], options)
    ]
    assert [task["overlay"] for task in shown] == [None, str(tmp_path)]
    assert [task["build"]["overlay"] for task in shown] == [None, str(tmp_path / "environment")]
    assert shown[1]["build"]["base_images"] == {"debian:bookworm-slim": "mirror/debian:1"}
    assert shown[1]["instruction"] == "Another text."
    assert shown[0]["digest"] != shown[1]["digest"]
    refused = CliRunner().invoke(
        app, ["tasks", "show", "demo/ledger", *options], prog_name="agent", standalone_mode=False
    )
    assert "--overlay does not apply to ledger" in str(refused.exception)


def test_each_stage_of_a_task_is_shown() -> None:
    shown = CliRunner().invoke(app, ["tasks", "show", str(TASKS / "harbor/pipeline")], prog_name="agent").stdout
    assert "in stage 1 of 2, collect, the model sees" in shown
    assert "in stage 2 of 2, serve, the model sees" in shown
    assert re.search(r"stage collect: limits: .*time_s 120.0.*; the chain ends below reward 0.5\n", shown)
    assert "result of all stages: their mean\n" in shown
    assert "feedback: none" in shown


def test_the_services_of_a_task_are_named() -> None:
    words = ["tasks", "show", str(TASKS / "harbor/orders")]
    (service,) = json.loads(CliRunner().invoke(app, [*words, "--json"], prog_name="agent").stdout)["services"]
    built = str(TASKS / "harbor/orders/environment/store")
    assert (service["name"], service["image"], service["build"], service["depends_on"]) == ("store", None, built, {})
    assert f"service store: built from {built}\n" in CliRunner().invoke(app, words, prog_name="agent").stdout
