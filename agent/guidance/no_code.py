"""The rule `no-code` for plans and answers: they may state what to do, and must not hold the code that does it.

A text breaks the rule with a fenced block, with a line that is code (`statements`), or with nine words in a row from
the reference solution (`solution_words`). Refusing an honest plan is worse than passing a line of code, so a line is
judged as a whole: a name or a call inside a sentence is not code. docs/reference/no-code.md has measured figures.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from agent.errors import UserError
from agent.guidance.solution_words import copied
from agent.guidance.statements import is_code, languages_of
from trajectories.analysis.code.grammars import GRAMMARS, parser
from trajectories.analysis.extras import MissingExtra

FENCED = "fenced block"
CODE = "line of code"
COPIED = "words of the reference solution"

_FENCE = re.compile(r"(?P<mark>`{3,}(?=[^`]*$)|~{3,})")
_MARKERS = re.compile(r"(?:[-*+•·–—]|\(?(?:\d{1,3}|[a-zA-Z])[.)]|>+|#{1,6}|\[[ xX]?\]|\$)[ \t]+|>+(?=[^=>\s])|[ \t]+")
"""Marks before the text of a line: lists, check boxes, quotes, headings, prompts of a shell."""
_WRAPPED = (re.compile(r"(`+)(?P<inner>[^`]+)\1[.,:;]?"), re.compile(r"(\*\*|__)(?P<inner>(?:(?!\1).)+)\1[.,:;]?"))
"""A line that consists of a single span of code, or of emphasis."""
_LOOKALIKES = str.maketrans({"“": '"', "”": '"', "„": '"', "‘": "'", "’": "'", "−": "-", "∗": "*", "\0": " "})
_IGNORED = re.compile("[\u00ad\u200b-\u200f\u2028-\u202e\u2060-\u2064\ufeff]")
"""Characters that nobody sees."""
_LONGEST_LINE = 200
"""Longest part of a line that a violation quotes, in characters."""


@dataclass(frozen=True)
class Violation:
    """The first place where a text breaks the rule: the part of the rule, and the line with its number from 1."""

    rule: str
    line: str
    line_number: int


def require_parsers() -> None:
    """Check that the parsers of all languages are installed.

    Raises: UserError that names the extra.
    """
    try:
        for language in GRAMMARS:
            parser(language, "the rule no-code")
    except MissingExtra as error:
        raise UserError(f"{error}; or use the rule none") from None


def check(text: str, *, language: str | None, solution: Path | None = None) -> Violation | None:
    """Return the first violation of the rule in a plan or an answer; None if it keeps the rule.

    `language` is the task's, in a benchmark's own word; `solution` is the directory or file of its reference solution.

    Raises: UserError without the extra `analysis`.
    """
    require_parsers()
    lines = _visible(text).split("\n")
    languages = languages_of(language)
    copied_at = copied(lines, solution) if solution is not None else None
    fences = _fences(lines)
    for number, line in enumerate(lines):
        if number in fences:
            return _violation(FENCED, lines, number)
        if number == copied_at:
            return _violation(COPIED, lines, number)
        if any(is_code(candidate, languages) for candidate in _candidates(line)):
            return _violation(CODE, lines, number)
    return None


def _violation(rule: str, lines: list[str], number: int) -> Violation:
    line = lines[number].strip()
    return Violation(rule, line if len(line) <= _LONGEST_LINE else f"{line[: _LONGEST_LINE - 1]}…", number + 1)


def _visible(text: str) -> str:
    """Return the text as a reader sees it, in the characters that a parser knows, with `\\n` between lines."""
    text = re.sub("\r\n?|[\x0b\x0c\x1c-\x1e\x85\u2028\u2029]", "\n", text)
    return unicodedata.normalize("NFKC", _IGNORED.sub("", text)).translate(_LOOKALIKES)


def _fences(lines: list[str]) -> set[int]:
    """Return the numbers of the lines that begin a fenced block, closed or not."""
    fences: set[int] = set()
    mark = ""
    for number, line in enumerate(lines):
        content = _unmarked(line)
        match = _FENCE.match(content)
        if match is None:
            continue
        if mark:
            if match["mark"].startswith(mark) and not content[match.end() :].strip():
                mark = ""
        elif match["mark"][0] == "`" or number == 0 or not lines[number - 1].strip():  # or ~~~ underlines a title
            fences.add(number)
            mark = match["mark"]
    return fences


def _candidates(line: str) -> Iterator[str]:
    """Yield the readings of a line that may be code: without marks of a list, of emphasis or of a diff."""
    content = _unmarked(line)
    for pattern in _WRAPPED:
        match = pattern.fullmatch(content)
        if match is not None:
            content = _unmarked(match["inner"])
    if content:
        yield content
        if content[0] in "+-" and content[1:2] not in ("", content[0]):
            yield content[1:].strip()


def _unmarked(line: str) -> str:
    """Return a line without the marks before its text."""
    at = 0
    while match := _MARKERS.match(line, at):
        at = match.end()
    return line[at:].rstrip()
