"""Links of the documentation have a target, and its examples use commands and options that exist."""

import re
import shlex
from pathlib import Path
from typing import Any, get_args

import pytest
from typer.core import TyperGroup

from scripts.docs import with_table
from scripts.record_page import record_page
from tests.packaging.test_help import APPLICATION, CONTEXT
from trajectories.record.base import BaseEvent
from trajectories.record.events import Known

ROOT = Path(__file__).parents[2]
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])
_LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
_FENCE = re.compile(r"^```.*?^```", re.S | re.M)
_INLINE = re.compile(r"`(agent [a-z][^`]*)`")


def relative_links(text: str) -> list[str]:
    """Return the targets of links that are neither addresses nor in examples."""
    return [link for link in _LINK.findall(_FENCE.sub("", text)) if not re.match(r"[a-z]+:", link)]


def anchors(text: str) -> set[str]:
    """Return the anchors of a page's headings, made as GitHub makes them."""
    headings = re.findall(r"^#+ (.*)$", _FENCE.sub("", text), re.M)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_relative_links_lead_to_files_and_headings(page: Path) -> None:
    for link in relative_links(page.read_text(encoding="utf-8")):
        name, _, anchor = link.partition("#")
        target = (page.parent / name).resolve() if name else page
        assert target.exists(), f"{link}: no such file"
        assert target.is_relative_to(ROOT), f"{link}: outside of the repository"
        if anchor:
            assert anchor in anchors(target.read_text(encoding="utf-8")), f"{link}: no such heading"


def examples() -> list[str]:
    """Return every line of an example, and every inline one, that calls `agent`."""
    lines = set()
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        blocks = "\n".join(_FENCE.findall(text))
        lines |= {line.strip().removeprefix("$ ") for line in blocks.splitlines()}
        lines |= {line.replace("\\|", "|") for line in _INLINE.findall(_FENCE.sub("", text).replace("\n", " "))}
    return sorted(line for line in lines if re.match(r"agent [a-z]+", line))


@pytest.mark.parametrize("line", examples())
def test_commands_and_options_of_examples_exist(line: str) -> None:
    words = shlex.split(re.sub(r"['\[\]{}]|\.\.\.", " ", line), comments=True)[1:]
    command: Any = APPLICATION
    while isinstance(command, TyperGroup) and words and not words[0].startswith("-"):
        name = words.pop(0).split("|")[0]
        command = command.get_command(CONTEXT, name)
        assert command is not None, f"agent has no command {name}"
    options = {option for parameter in command.get_params(CONTEXT) for option in parameter.opts}
    used = re.findall(r"(?<!\S)--[a-z][a-z-]*", " ".join(words))
    assert [option for option in used if option not in options] == []


def test_a_table_is_written_between_its_markers() -> None:
    page = "before\n<!-- x -->\nold\n<!-- end of x -->\nafter\n"
    assert with_table(page, "x", "new") == "before\n<!-- x -->\n\nnew\n\n<!-- end of x -->\nafter\n"


def test_the_record_page_has_every_event_with_every_field() -> None:
    sections = record_page().split("\n### ")
    for event in get_args(get_args(Known)[0]):
        name = event.model_fields["type"].default
        (section,) = (text for text in sections if text.startswith(f"`{name}`\n"))
        own = set(event.model_fields) - set(BaseEvent.model_fields) - {"type"}
        for field in own:
            assert f"| `{event.model_fields[field].alias or field}` |" in section
        assert "```json" in section, "no stored record has such an event"


def test_every_field_of_the_record_page_has_a_meaning() -> None:
    assert [line for line in record_page().splitlines() if re.match(r"\| `.*\|\s*\|$", line)] == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_lines_are_not_long(page: Path) -> None:
    """Tables are exempt: a row is one line."""
    lines = page.read_text(encoding="utf-8").splitlines()
    too_long = [f"{number}: {line}" for number, line in enumerate(lines, 1) if len(line) > 120 and line[:1] != "|"]
    assert too_long == []
