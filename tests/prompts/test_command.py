"""`agent prompts` and `agent models settings`, and the pages that are made from the same lists."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from typer.testing import CliRunner

import prompts
from agent.cli.main import app
from agent.errors import UserError
from agent.models.litellm.settings import OWN, parse_settings
from agent.models.protocol import ModelUnusable


def run(*words: str) -> str:
    result = CliRunner().invoke(app, ["prompts", *words], catch_exceptions=False)
    assert result.exit_code == 0
    return result.stdout


def test_the_shipped_prompts_are_listed_with_the_names_that_records_hold() -> None:
    rows = {row["name"]: row for row in json.loads(run("list", "--json"))["prompts"]}
    assert set(rows) == set(prompts.names())
    assert {name: row["recorded_as"] for name, row in rows.items()} == {
        "default": "default-2",
        "default-1": "default-1",
        "programbench": "programbench-2",
        "programbench-1": "programbench-1",
    }
    assert [rows[name]["shown_characters"] for name in ("default", "default-1", "programbench")] == [
        12000,
        10000,
        10000,
    ]
    assert all(row["sha256"] == prompts.load(name).sha256 for name, row in rows.items())
    table = run("list").splitlines()
    assert len(table) == 1 + len(rows)
    assert max(map(len, table)) <= 80


@pytest.mark.parametrize("name", prompts.names())
def test_a_prompt_is_shown_as_a_trial_records_it_and_is_a_prompt_file(name: str, tmp_path: Path) -> None:
    own = tmp_path / "mine.yaml"
    own.write_text(run("show", name))
    assert prompts.load(str(own)).sha256 == prompts.load(name).sha256
    assert json.loads(run("show", name, "--json"))["sha256"] == prompts.load(name).sha256


def test_the_differences_of_two_prompts_are_shown_by_key(tmp_path: Path) -> None:
    own = tmp_path / "mine.yaml"
    own.write_text("extends: default\nsystem: Be brief.\nvariables: {PAGER: cat, CI: 'yes'}\nshown_characters: 500\n")
    lines = run("show", str(own), "--diff", "default").splitlines()
    assert lines[:2] == ["--- default-2", f"+++ {own}"]
    assert [line for line in lines if line.endswith("(changed)")] == [
        "shown_characters (changed)",
        "variables (changed)",
        "system (changed)",
    ]
    assert {"-12000", "+500", "+CI: yes", "-TQDM_DISABLE: 1", "+Be brief."} <= set(lines)
    first = json.loads(run("show", "default", "--diff", "default-1", "--json"))
    changes: dict[str, Any] = {each["key"]: each["change"] for each in first["differences"]}
    assert (first["other"], changes["branched"], changes["observation"]) == ("default-1", "added", "changed")
    assert "system" not in changes
    assert run("show", "default", "--diff", "default-2").splitlines() == ["--- default-2", "+++ default-2"]


def test_a_prompt_that_does_not_exist_is_the_user_s_mistake() -> None:
    for words in (["show", "nope"], ["show", "default", "--diff", "nope"]):
        with pytest.raises(UserError, match="no prompt 'nope'"):
            CliRunner().invoke(app, ["prompts", *words], catch_exceptions=False)


def test_the_settings_of_our_own_are_those_that_are_read() -> None:
    rows = json.loads(CliRunner().invoke(app, ["models", "settings", "--json"]).stdout)["settings"]
    assert [row["setting"] for row in rows] == list(OWN)
    for name, (default, _) in OWN.items():
        value = "chat" if name == "api" else default  # its default is the model's
        assert parse_settings({name: value}) == parse_settings({}), (
            "it is read, and its default is the one that is told"
        )
        with pytest.raises(ModelUnusable, match=f"--model-setting {name}=nonsense"):
            parse_settings({name: "nonsense"})
    for command in ("solve", "fork"):
        text = CliRunner().invoke(app, [command, "--help"], env={"COLUMNS": "200"}).stdout
        assert "agent models settings" in text
        assert all(name in text for name in OWN)


def test_every_key_and_value_is_on_the_page() -> None:
    page = (Path(__file__).parents[2] / "docs/reference/prompts.md").read_text()
    assert prompts.tables() in page
    for name in prompts.names():
        for key in yaml.safe_load(prompts.load(name).data):
            assert f"| `{key}` |" in page
