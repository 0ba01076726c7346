"""Exports of a guided trial: the question is a call of a tool that the file declares, and its answer is the result."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.formats.test_export import check_atif
from tests.solve.guided import ANSWERS, solve
from trajectories.formats.atif.write import document
from trajectories.formats.export import export
from trajectories.formats.source import Source


@pytest.fixture(scope="module")
def trial(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return solve(tmp_path_factory.mktemp("guided"), "echo one", {"ask": "Which file?"})


def test_openai_messages_declare_the_tool_ask(trial: Path) -> None:
    (line,) = export(trial, "openai").splitlines()
    content: dict[str, Any] = json.loads(line)
    assert [tool["function"]["name"] for tool in content["tools"]] == ["bash", "ask"]
    messages = content["messages"]
    at = next(n for n, message in enumerate(messages) if "Which file?" in json.dumps(message.get("tool_calls", "")))
    call, answer = messages[at : at + 2]
    assert json.loads(call["tool_calls"][0]["function"]["arguments"]) == {"question": "Which file?"}
    assert answer["tool_call_id"] == call["tool_calls"][0]["id"]
    assert ANSWERS[0] in answer["content"]


def test_atif_holds_the_question_as_a_tool_call_with_its_answer(trial: Path) -> None:
    value = document(Source.of(trial))
    check_atif(value, trial)
    assert [tool["function"]["name"] for tool in value["agent"]["tool_definitions"]] == ["bash", "ask"]
    step = next(step for step in value["steps"] if "Which file?" in json.dumps(step.get("tool_calls", "")))
    assert ANSWERS[0] in step["observation"]["results"][0]["content"]


def test_a_cast_shows_question_and_answer(trial: Path) -> None:
    cast = export(trial, "asciicast").decode()
    assert "? Which file?" in cast
    assert f"> {ANSWERS[0]}" in cast


def test_mini_has_no_action_for_a_question(trial: Path) -> None:
    messages = json.loads(export(trial, "mini"))["messages"]
    asked = next(message for message in messages if "Which file?" in json.dumps(message.get("tool_calls", "")))
    assert asked["extra"]["actions"] == []
    assert ANSWERS[0] in messages[messages.index(asked) + 1]["content"]
