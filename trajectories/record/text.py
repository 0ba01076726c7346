"""Text that a model is shown, text that can be stored, and text that a terminal can show.

Nothing here strips or reflows text, and a notice stands in the place of what is left out.
"""

from __future__ import annotations

import codecs
import re
from typing import Any

SHOWN_CHARACTERS = 10_000
"""Longest text that is shown whole. Of a longer one, the first and the last half of this are shown."""

_SURROGATES = re.compile("[\ud800-\udfff]")
_CONTROLS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")


def cut_middle(text: str, limit: int = SHOWN_CHARACTERS) -> str:
    """Return the text, or its first and last `limit // 2` code points around a notice of what was left out."""
    if len(text) <= limit:
        return text
    half = limit // 2
    left_out = len(text) - 2 * half
    return _around(text[:half], left_out, text[-half:])


def _around(head: str, left_out: int, tail: str) -> str:
    return f"{head}\n[... {left_out} characters left out here ...]\n{tail}"


def shown(data: bytes, limit: int = SHOWN_CHARACTERS) -> str:
    """Return an output as a model sees it: UTF-8 with replacement, `\\r` kept, cut in the middle if it is long."""
    return cut_middle(data.decode("utf-8", "replace"), limit)


class ShownPieces:
    """`shown` for bytes that come in pieces. It keeps no more of them than it shows."""

    def __init__(self, limit: int = SHOWN_CHARACTERS) -> None:
        self._limit = limit
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._head = self._tail = ""
        self._length = 0

    def add(self, data: bytes, *, last: bool = False) -> None:
        """Take in the next piece."""
        text = self._decoder.decode(data, last)
        self._length += len(text)
        if len(self._head) < self._limit:
            self._head += text[: self._limit - len(self._head)]
        self._tail = (self._tail + text[-self._limit :])[-self._limit :]

    def whole(self) -> str:
        """Return the text that is shown of all pieces."""
        self.add(b"", last=True)
        if self._length <= self._limit:
            return self._head
        half = self._limit // 2
        return _around(self._head[:half], self._length - 2 * half, self._tail[-half:])


def storable(text: str) -> str:
    """Return the text with lone surrogates replaced by U+FFFD, so that it can be encoded."""
    return _SURROGATES.sub("\ufffd", text)


def storable_json(value: Any) -> Any:
    """Return a JSON value with lone surrogates replaced in every string."""
    if isinstance(value, str):
        return storable(value)
    if isinstance(value, dict):
        return {storable(str(key)): storable_json(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [storable_json(item) for item in value]
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
