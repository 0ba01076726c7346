"""The help text of every command, argument and option can be understood alone."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest
import typer
from typer.core import TyperGroup

from agent.cli.main import app

_FRAGMENT = re.compile(r"(Of|From|To|With|The same|Another|Others?|Instead|Only|What|Where|Whether|Which|How)\b")
"""Beginnings of a text that continues the text of another option, or that is a question."""

APPLICATION = typer.main.get_command(app)
assert isinstance(APPLICATION, TyperGroup)
CONTEXT = typer.Context(APPLICATION)


def texts() -> Iterator[tuple[str, str]]:
    """Yield each command and parameter with its help text."""
    waiting: list[tuple[str, Any]] = [("agent", APPLICATION)]
    while waiting:
        name, command = waiting.pop()
        yield name, command.help or ""
        yield from ((f"{name} {parameter.name}", getattr(parameter, "help", "") or "") for parameter in command.params)
        if isinstance(command, TyperGroup):
            waiting += [
                (f"{name} {word}", command.get_command(CONTEXT, word)) for word in command.list_commands(CONTEXT)
            ]


@pytest.mark.parametrize(("name", "text"), [pytest.param(*pair, id=pair[0]) for pair in texts()])
def test_a_help_text_is_understood_alone(name: str, text: str) -> None:
    text = text.partition("\n\n")[0]
    assert len(text.split()) >= 3, "at least three words"
    assert re.search(r"(\.|\]\.?)$", text), "ends like a sentence, or with the default in brackets"
    assert text[0].isupper()
    assert not _FRAGMENT.match(text), "is part of a sentence"


def test_the_list_of_commands_shows_whole_sentences() -> None:
    short = {name: command.get_short_help_str(62) for name, command in APPLICATION.commands.items()}
    assert [name for name, text in short.items() if text.endswith("...")] == []


@pytest.mark.parametrize("name", APPLICATION.commands)
def test_the_line_of_a_command_in_the_list_is_the_first_of_its_own_help(name: str) -> None:
    line, command = APPLICATION.commands[name].help, APPLICATION.get_command(CONTEXT, name)
    assert line == (command.help or "").partition("\n\n")[0].replace("\n", " ")
    assert command.name == name
