"""Finds the action in a reply of text: the content of its only fenced block with a tag that the prompt asks for.

An action is a command, or a question to the expert if the model may ask; a question stands alone.

Pure. The rule belongs to the prompt's version, and a record is always read by the rule of its own prompt.

Version 2 has a tag of our own, and blocks begin and end as in CommonMark: the closing fence has the same character, is
at least as long as the opening one and has nothing behind it; inside of a block no other block begins. Beyond
CommonMark, a reply is refused if its block could be a part of what was meant: a fence after the block's end may be the
real end of a script that has a fence of its own, and a reply that was cut off may lack that. So a script is run as it
was written, or not at all.

Version 1 looks for blocks of `bash`, `sh` or `shell` by a regular expression, which also finds them inside of other
blocks and ends them too early.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from agent.models.protocol import Fence

_FIRST = re.compile(r"^```(?:bash|sh|shell)[ \t]*\n(.*?)^```[ \t]*$", re.DOTALL | re.MULTILINE)
_LINE = re.compile(r"(?P<indent> {0,3})(?P<marks>`{3,}(?=[^`]*$)|~{3,})[ \t]*(?P<info>.*?)[ \t\r]*", re.DOTALL)
_ELSEWHERE = re.compile(r"[ \t>*+\-\d.)]*(?:`{3,}|~{3,})[ \t]*(?P<tag>\S+)")
"""A line that begins a block in a list, a quotation or an indented text."""


NOT_ALONE = "a question must stand alone in its reply, and this one asks beside something else; nothing of it was done"
"""Problem of a reply that asks and does something else."""


class NoCommand(Exception):
    """A reply without exactly one action; the message completes "the reply was not usable: ..."."""


@dataclass(frozen=True)
class _Opening:
    marks: str
    line: int
    tagged: bool


def command_in(text: str, fence: Fence, *, cut_off: bool) -> str:
    """Return the script of a reply; `cut_off` tells that the reply ended at the limit of a call's output.

    Raises: NoCommand.
    """
    if fence.tag is None:
        return _first_version(text)
    if cut_off:
        raise NoCommand("its end is missing, so no part of it was run")
    return _tagged_block(text, fence.tag)


def question_in(text: str, fence: Fence, *, cut_off: bool) -> str | None:
    """Return the question of a reply; None if it does not ask.

    Raises: NoCommand for a question that does not stand alone, or whose block is not whole.
    """
    if fence.asks is None or not _opens(text, fence.asks):
        return None
    if _FIRST.search(text) if fence.tag is None else _opens(text, fence.tag):
        raise NoCommand(NOT_ALONE)
    if cut_off:
        raise NoCommand("its end is missing, so its question was not asked")
    return _tagged_block(text, fence.asks)


def _first_version(text: str) -> str:
    blocks: list[str] = _FIRST.findall(text)
    if len(blocks) != 1:
        raise NoCommand(f"it holds {len(blocks)} fenced bash blocks, and exactly one is needed")
    return blocks[0].removesuffix("\n")


def _tagged_block(text: str, tag: str) -> str:
    """Return the content of the only block with this tag.

    Raises: NoCommand.
    """
    lines = text.split("\n")
    opening: _Opening | None = None
    for number, line in enumerate(lines):
        fence = _LINE.fullmatch(line)
        if opening is None:
            if _tag_of(line, fence) == tag:
                _require_alone(line, tag)
            if fence is not None:
                opening = _Opening(fence["marks"], number, fence["info"].split() == [tag])
        elif fence is not None and not fence["info"] and fence["marks"].startswith(opening.marks):
            if opening.tagged:
                _require_last(lines[number + 1 :])
                return "\n".join(lines[opening.line + 1 : number])
            opening = None
    if opening is not None and opening.tagged:
        raise NoCommand(f"its block is not closed by a line of {len(opening.marks)} or more of {opening.marks[0]}")
    raise NoCommand(f"it holds no fenced block that begins with ```{tag}, outside of other blocks")


def _opens(text: str, tag: str) -> bool:
    """Report if a line outside of other blocks begins, or seems to begin, a block with this tag."""
    marks = ""
    for line in text.split("\n"):
        fence = _LINE.fullmatch(line)
        if not marks:
            if _tag_of(line, fence) == tag:
                return True
            marks = fence["marks"] if fence else ""
        elif fence is not None and not fence["info"] and fence["marks"].startswith(marks):
            marks = ""
    return False


def _tag_of(line: str, fence: re.Match[str] | None) -> str:
    """Return the tag of the block that a line begins, also in a list, a quotation or an indented text; or nothing."""
    if fence is not None:
        return next(iter(fence["info"].split()), "")
    elsewhere = _ELSEWHERE.match(line)
    return elsewhere["tag"] if elsewhere else ""


def _require_alone(line: str, tag: str) -> None:
    """Check the opening line of a tagged block.

    Raises: NoCommand.
    """
    if line.endswith("\r"):
        raise NoCommand("its lines end with a carriage return; end them with a line feed alone")
    if not re.fullmatch(rf"(?:`{{3,}}|~{{3,}})[ \t]*{re.escape(tag)}[ \t]*", line):
        raise NoCommand(f"the line that begins its block must hold nothing but ```{tag}, from the first column on")


def _require_last(rest: list[str]) -> None:
    """Check that no fence follows a block.

    Raises: NoCommand.
    """
    if any(_LINE.fullmatch(line) for line in rest):
        raise NoCommand(
            "after the end of its block another fence follows; give one block and nothing fenced after it, and if a "
            "line of the command begins with a fence, begin and end the block with a longer one"
        )
