"""Text that a model is shown, text that can be stored, and text that a terminal can show.

Nothing here strips or reflows text, and a notice stands in the place of what is left out.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

SHOWN_CHARACTERS = 10_000
"""Longest text that is shown whole, unless a prompt sets another limit. Of a longer one, the first and the last half of
this are shown."""

_SURROGATES = re.compile("[\ud800-\udfff]")
_CONTROLS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")


def cut_middle(text: str, limit: int = SHOWN_CHARACTERS) -> str:
    """Return the text, or its first and last `limit // 2` code points around a notice of what was left out."""
    if len(text) <= limit:
        return text
    half = limit // 2
    return f"{text[:half]}\n[... {len(text) - 2 * half} characters left out here ...]\n{text[-half:]}"


@dataclass(frozen=True)
class LeftOut:
    """The middle of a text that is not shown. Lines count from 1; the first and the last one may be shown in part."""

    characters: int
    first_line: int
    last_line: int
    lines: int
    """Number of lines of the whole text."""


def _count_of(left_out: LeftOut) -> str:
    return f"[... {left_out.characters} characters left out here ...]"


@dataclass(frozen=True)
class Cut:
    """A rule for texts that are too long to be shown whole."""

    limit: int = SHOWN_CHARACTERS
    """Longest text that is shown whole, in code points; 2 or more. Of a longer one, both ends are shown, half of this
    each."""
    notice: Callable[[LeftOut], str] = _count_of
    """Returns the line in the place of what is left out."""

    def shown(self, text: str) -> str:
        """Return the text, or both of its ends if it is too long."""
        return text if len(text) <= self.limit else _both_ends(text, text, len(text), text.count("\n"), self)


FIRST_CUT = Cut()
"""The rule of version 1 of the prompts, and of records without a prompt of ours."""


def shown(data: bytes, cut: Cut = FIRST_CUT) -> str:
    """Return an output as a model sees it: UTF-8 with replacement, `\\r` kept, cut in the middle if it is long."""
    return cut.shown(data.decode("utf-8", "replace"))


class ShownPieces:
    """`shown` for bytes that come in pieces. It keeps little more of them than it shows."""

    def __init__(self, cut: Cut = FIRST_CUT) -> None:
        self._cut = cut
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._head = self._tail = ""
        self._length = self._newlines = 0

    def add(self, data: bytes, *, last: bool = False) -> None:
        """Take in the next piece."""
        text, limit = self._decoder.decode(data, last), self._cut.limit
        self._length += len(text)
        self._newlines += text.count("\n")
        if len(self._head) < limit:
            self._head += text[: limit - len(self._head)]
        self._tail = (self._tail + text[-limit:])[-limit:]

    def whole(self) -> str:
        """Return the text that is shown of all pieces."""
        self.add(b"", last=True)
        if self._length <= self._cut.limit:
            return self._head
        return _both_ends(self._head, self._tail, self._length, self._newlines, self._cut)


def _both_ends(beginning: str, ending: str, length: int, newlines: int, cut: Cut) -> str:
    """Return what is shown of a long text; `beginning` and `ending` hold more of it than a half of what is shown."""
    half = cut.limit // 2
    head, tail = beginning[:half], ending[-half:]
    left_out = LeftOut(
        characters=length - 2 * half,
        first_line=head.count("\n") + 1,
        last_line=newlines - tail.count("\n") - (ending[-half - 1] == "\n") + 1,
        lines=newlines + (not tail.endswith("\n")),
    )
    return f"{head}\n{cut.notice(left_out)}\n{tail}"


def storable(text: str) -> str:
    """Return the text with lone surrogates replaced by U+FFFD, so that it can be encoded."""
    return _SURROGATES.sub("\ufffd", text)


def sendable(text: str) -> str:
    """Return the text with lone surrogates and NUL characters replaced by U+FFFD: providers reject a NUL."""
    return storable(text).replace("\0", "\ufffd")


def storable_json(value: Any) -> Any:
    """Return a JSON value with lone surrogates replaced in every string."""
    return _with_strings(value, storable)


def sendable_json(value: Any) -> Any:
    """Return a JSON value with lone surrogates and NUL characters replaced in every string."""
    return _with_strings(value, sendable)


def _with_strings(value: Any, change: Callable[[str], str]) -> Any:
    if isinstance(value, str):
        return change(value)
    if isinstance(value, dict):
        return {change(str(key)): _with_strings(item, change) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_with_strings(item, change) for item in value]
    return value


def printable(text: str) -> str:
    """Return the text with control characters other than newline and tab made visible, for a terminal."""
    return _CONTROLS.sub(lambda match: _visible(match[0]), text)


def quantity(count: int, noun: str) -> str:
    """Return a number with its noun, for example `1 file`, `2 files` or `0 directories`."""
    plural = f"{noun[:-1]}ies" if noun.endswith("y") else f"{noun}s"
    return f"{count} {noun if count == 1 else plural}"


def _visible(character: str) -> str:
    code = ord(character)
    if code < 0x20:
        return chr(0x2400 + code)
    return "\u2421" if code == 0x7F else f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"
