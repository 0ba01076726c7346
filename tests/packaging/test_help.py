"""The help text of every command, argument and option can be understood alone."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer
from typer.core import TyperGroup
from typer.testing import CliRunner

from agent.cli.main import app

_FRAGMENT = re.compile(r"(Of|From|To|With|The same|Another|Others?|Instead|Only|What|Where|Whether|Which|How)\b")
"""Beginnings of a text that continues the text of another option, or that is a question."""

APPLICATION = typer.main.get_command(app)
assert isinstance(APPLICATION, TyperGroup)
CONTEXT = typer.Context(APPLICATION)
PURPOSES = APPLICATION.purposes
ROOT = Path(__file__).parents[2]


def commands() -> Iterator[tuple[str, Any]]:
    """Yield the application, its groups and its commands, each with the words that call it."""
    waiting: list[tuple[str, Any]] = [("agent", APPLICATION)]
    while waiting:
        name, command = waiting.pop()
        yield name, command
        if isinstance(command, TyperGroup):
            waiting += [
                (f"{name} {word}", command.get_command(CONTEXT, word)) for word in command.list_commands(CONTEXT)
            ]
        waiting += [(f"{name} {word}", verb) for word, verb in getattr(command, "verbs", {}).items()]


COMMANDS = [name for name, _ in commands()]


def texts() -> Iterator[tuple[str, str]]:
    """Yield each command and parameter with its help text."""
    for name, command in commands():
        yield name, command.help or ""
        yield from ((f"{name} {parameter.name}", getattr(parameter, "help", "") or "") for parameter in command.params)


def shown(*words: str) -> str:
    """Return the help of a command as a terminal of 80 columns shows it."""
    result = CliRunner().invoke(app, [*words, "--help"], prog_name="agent", env={"COLUMNS": "80"})
    assert result.exit_code == 0
    return result.output


@pytest.mark.parametrize(("name", "text"), [pytest.param(*pair, id=pair[0]) for pair in texts()])
def test_a_help_text_is_understood_alone(name: str, text: str) -> None:
    text = text.partition("\n\n")[0]
    assert len(text.split()) >= 3, "at least three words"
    assert re.search(r"(\.|\]\.?)$", text), "ends like a sentence, or with the default in brackets"
    assert text[0].isupper()
    assert not _FRAGMENT.match(text), "is part of a sentence"


@pytest.mark.parametrize("name", COMMANDS)
def test_a_help_fits_80_columns_and_names_no_types(name: str) -> None:
    output = shown(*name.split()[1:])
    assert [line for line in output.splitlines() if len(line) > 80] == []
    assert not re.search(r"<(str|int|list|float|path)|\[default:|x>=|\{|\[\[", output)


@pytest.mark.parametrize("name", ["agent tasks", "agent models", "agent prices", "agent prompts"])
def test_a_group_lists_its_commands_in_whole_sentences(name: str) -> None:
    lines = shown(*name.split()[1:]).partition("Commands:\n")[2].partition("\n\n")[0].splitlines()
    assert lines
    assert [line for line in lines if not line.endswith(".") or line.endswith("...")] == []


@pytest.mark.parametrize("name", COMMANDS)
def test_a_help_names_a_page_that_exists(name: str) -> None:
    page = shown(*name.split()[1:]).splitlines()[-1].removeprefix("Documentation: ")
    assert (ROOT / page).is_file()


def test_the_commands_are_listed_by_purpose_in_whole_sentences() -> None:
    sections = [section for section in shown().split("\n\n") if section.partition(":\n")[0] in PURPOSES]
    lines = [line for section in sections for line in section.splitlines()[1:]]
    assert len(sections) == len(PURPOSES)
    assert [line.split()[0] for line in lines] == list(APPLICATION.commands)
    assert [line for line in lines if not line.endswith(".")] == []


def test_the_options_of_solve_stand_in_panels() -> None:
    titles = re.findall(r"^(\w+):$", shown("solve"), re.M)
    assert titles == ["Task", "Model", "Interventions", "Limits", "Environment", "Output", "Options", "Examples"]


@pytest.mark.parametrize("name", APPLICATION.commands)
def test_the_line_of_a_command_in_the_list_is_the_first_of_its_own_help(name: str) -> None:
    line, command = APPLICATION.commands[name].help, APPLICATION.get_command(CONTEXT, name)
    assert line == (command.help or "").partition("\n\n")[0].replace("\n", " ")
    assert command.name == name
