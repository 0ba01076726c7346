"""The benchmark's prompt extends the default one, and is complete when it is recorded."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

import prompts
from prompts import PromptError

TASK = {
    "instruction": "Do it.",
    "action_format": "tool",
    "workdir": "/workspace",
    "user": "agent",
    "network": False,
    "shell": "fresh",
    "command_s": 180,
    "steps": 1000,
    "time_s": 21600,
    "submit": "SUBMIT",
}


def test_it_has_the_default_text_and_the_rules() -> None:
    rendered = prompts.load("programbench").render("task", **TASK)
    default = prompts.load("default").render("task", **TASK)
    assert rendered.startswith("Do it.\n\n## What is there\n")
    assert rendered.endswith(default.removeprefix("Do it."))
    for word in ("compile.sh", "./executable", "source code", "decompile", "disassemble", "trace", "commit", "Tests"):
        assert word in rendered
    assert "{" not in rendered


def test_it_states_if_there_is_a_network() -> None:
    prompt = prompts.load("programbench")
    off = prompt.render("task", **TASK)
    on = prompt.render("task", **{**TASK, "network": True})
    assert "There is no network." in off
    assert "internet access" not in off
    assert "There is no network." not in on
    assert "You have internet access" in on
    assert "source code stays forbidden" in on


def test_the_recorded_prompt_needs_no_other_file() -> None:
    prompt = prompts.load("programbench")
    content = yaml.safe_load(prompt.data)
    assert "extends" not in content
    recorded = prompts.parse("programbench", prompt.data)
    assert recorded.sha256 == prompt.sha256
    assert recorded.data == prompt.data
    for values in (TASK, {**TASK, "network": True, "shell": "persistent", "action_format": "fenced"}):
        assert recorded.render("task", **values) == prompt.render("task", **values)
    default = yaml.safe_load((Path(prompts.__file__).parent / "default.yaml").read_bytes())
    assert {key: content[key] for key in default if key != "task"} == {k: v for k, v in default.items() if k != "task"}


def test_a_prompt_of_the_user_can_extend_it(tmp_path: Path) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text("extends: programbench\nsystem: Be brief.\ninstruction: '{{ instruction }} And well.'\n")
    prompt = prompts.load(str(path))
    assert prompt.render("system") == "Be brief."
    assert prompt.render("task", **TASK).startswith("Do it. And well.\n\n## What is there\n")
    assert prompt.sha256 != prompts.load("programbench").sha256


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("extends: nothing\n", "extends 'nothing', which is not one of default, programbench"),
        ("extends: default\ninstruction: a\ntask: b\n", "has both 'instruction' and 'task'"),
        ("extends: default\nsytem: a\n", "unknown key 'sytem'"),
        ("instruction: a\n", "key 'system' is missing"),
    ],
)
def test_an_invalid_prompt_is_an_error(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text(text)
    with pytest.raises(PromptError, match=r"mine\.yaml") as caught:
        prompts.load(str(path))
    assert message in str(caught.value)
