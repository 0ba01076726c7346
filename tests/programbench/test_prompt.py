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
    "tokens": None,
    "cost_usd": None,
    "shown_characters": 10_000,
    "submit": "SUBMIT",
    "fence": "retrace_bash",
}
FIRST = {
    "default-1": "0d44b90354f03a63bd1af3f35ce99a8b3504684fecfd6eaa7ba279609f7c426a",
    "programbench-1": "e19ff6968d258de6d37a429d7f4b10d92dc22ced79d9fb843f45f4905d7509ae",
}
"""Hashes in the records that were made with version 1, which must not change."""


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


@pytest.mark.parametrize("name", FIRST)
def test_version_1_stays_as_it_was_and_is_selectable(name: str) -> None:
    prompt = prompts.load(name)
    assert (prompt.name, prompt.sha256, prompt.fence) == (name, FIRST[name], None)
    assert (prompt.shown_characters, prompt.variables, "branched" in prompt.templates) == (None, {}, False)
    same = prompts.with_sha256(prompt.sha256)
    assert same is not None
    assert (same.name, same.data) == (prompt.name, prompt.data)
    assert "```bash" in prompt.render("task", **{**TASK, "action_format": "fenced"})


@pytest.mark.parametrize("name", ["default", "programbench"])
def test_the_newest_version_is_named_with_its_number(name: str) -> None:
    prompt = prompts.load(name)
    assert prompt.name == f"{name}-2"
    assert prompts.load(prompt.name).data == prompt.data
    same = prompts.with_sha256(prompt.sha256)
    assert same is not None
    assert (same.name, same.data) == (prompt.name, prompt.data)
    rendered = prompt.render("task", **{**TASK, "action_format": "fenced"})
    assert "one fenced block that begins with ```retrace_bash" in rendered
    assert "\n```retrace_bash\nSUBMIT\n```\n" in rendered
    assert "```bash" not in rendered
    with pytest.raises(PromptError, match=rf"no prompt '{name}-3'"):
        prompts.load(f"{name}-3")


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
    own = ("task", "shown_characters")
    assert {key: content[key] for key in default if key not in own} == {
        k: v for k, v in default.items() if k not in own
    }
    assert (content["shown_characters"], default["shown_characters"]) == (10_000, 12_000)  # the first: the reference's


def test_a_prompt_of_the_user_can_extend_it(tmp_path: Path) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text("extends: programbench\nsystem: Be brief.\ninstruction: '{{ instruction }} And well.'\n")
    prompt = prompts.load(str(path))
    assert prompt.render("system") == "Be brief."
    assert prompt.render("task", **TASK).startswith("Do it. And well.\n\n## What is there\n")
    assert prompt.sha256 != prompts.load("programbench").sha256
