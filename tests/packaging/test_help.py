"""The help text of every command, argument and option can be understood alone."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
import typer

from agent.cli.main import app

_FRAGMENT = re.compile(r"(Of|From|To|With|The same|Another|Others?|Instead|Only|What|Where|Whether|Which|How)\b")
"""Beginnings of a text that continues the text of another option, or that is a question."""


def texts() -> Iterator[tuple[str, str]]:
    """Yield each command and parameter with its help text."""
    waiting = [("agent", typer.main.get_command(app))]
    while waiting:
        name, command = waiting.pop()
        yield name, command.help or ""
        yield from ((f"{name} {parameter.name}", getattr(parameter, "help", "") or "") for parameter in command.params)
        waiting += [(f"{name} {word}", child) for word, child in getattr(command, "commands", {}).items()]


@pytest.mark.parametrize(("name", "text"), [pytest.param(*pair, id=pair[0]) for pair in texts()])
def test_a_help_text_is_understood_alone(name: str, text: str) -> None:
    text = text.partition("\n\n")[0]
    assert len(text.split()) >= 3, "at least three words"
    assert re.search(r"(\.|\]\.?)$", text), "ends like a sentence, or with the default in brackets"
    assert text[0].isupper()
    assert not _FRAGMENT.match(text), "is part of a sentence"


def test_the_list_of_commands_shows_whole_sentences() -> None:
    commands = getattr(typer.main.get_command(app), "commands", {})
    short = {name: command.get_short_help_str(62) for name, command in commands.items()}
    assert [name for name, text in short.items() if text.endswith("...")] == []
