"""Known secrets are masked at the moment of writing.

Masking is by value, never by pattern: a pattern misses keys and eats innocent text. Names, kinds,
numbers and hashes of an event are never touched: a secret that looks like one must not make a
record unreadable.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

_SECRET_NAME = re.compile(
    r"(^|_)(api_?key|key|token|secret|password|passwd|pass|pat|credentials?)(_|$)(?!.*(path|file|dir|name|url|sock)$)",
    re.IGNORECASE,
)
MASK = "[secret:"
"""What stands in a secret's place begins with this."""
_SHORTEST = 8
"""Shorter values are left alone: they would match innocent text."""
_TEXTS = frozenset(
    {
        "arguments",
        "asked",
        "content",
        "detail",
        "env",
        "error",
        "isolation",
        "lost",
        "message",
        "model_served",
        "notes",
        "options",
        "parameters",
        "path",
        "refusal",
        "script",
        "settings",
        "text",
        "title",
        "usage_raw",
        "why",
        "why_none",
    }
)
"""Fields that hold somebody's words, and so may hold a secret; all strings below them are masked."""
_CLOSED = {
    "why": frozenset(("message",)),
    "error": frozenset(("call_failed",)),
    "path": frozenset(("workspace_exported",)),
}
"""Where such a name is one of a closed set instead, by type of event."""


class Masker:
    """Replaces each known secret by `[secret:NAME]`."""

    def __init__(self, secrets: Mapping[str, str] | None = None) -> None:
        """`secrets` maps names to values; values under 8 characters are left alone."""
        known = {name: value for name, value in (secrets or {}).items() if len(value) >= _SHORTEST}
        pairs = {form: f"{MASK}{name}]" for name, value in known.items() for form in _spellings(value)}
        self._texts = sorted(pairs.items(), key=lambda pair: -len(pair[0]))
        self._bytes = [
            (form.encode("utf-8", "surrogateescape"), mark.encode("utf-8", "surrogateescape"))
            for form, mark in self._texts
        ]

    @classmethod
    def from_environment(cls, environ: Mapping[str, str] = os.environ) -> Masker:
        """The values of all variables that are named like a key, a token, a secret or a password."""
        return cls({name: value for name, value in environ.items() if _SECRET_NAME.search(name)})

    def occurs_in(self, line: bytes) -> bool:
        """Whether a line of JSON may hold a secret."""
        return any(form in line for form, _ in self._bytes)

    def data(self, data: bytes) -> tuple[bytes, bool]:
        """The bytes with secrets masked, and whether there were any."""
        masked = False
        for form, mark in self._bytes:
            if form in data:
                data, masked = data.replace(form, mark), True
        return data, masked

    def pieces(self, pieces: Iterator[bytes], found: Callable[[], None]) -> Iterator[bytes]:
        """What `data` makes of all of them, `found` called for each secret in them; a secret may lie across pieces."""
        for form, mark in self._bytes:
            pieces = _replaced(pieces, form, mark, found)
        return pieces

    def text(self, text: str) -> str:
        """The text with secrets masked."""
        for form, mark in self._texts:
            text = text.replace(form, mark)
        return text

    def event(self, event: dict[str, Any]) -> dict[str, Any]:
        """A dumped event with secrets masked wherever it holds somebody's words."""
        kind = event.get("type")
        return {key: self._below(key, value, kind) for key, value in event.items()}

    def _below(self, key: str, value: Any, kind: object) -> Any:
        if key in _TEXTS and kind not in _CLOSED.get(key, ()):
            return self._everywhere(value)
        if isinstance(value, dict):
            return {name: self._below(name, item, kind) for name, item in value.items()}
        if isinstance(value, list):
            return [self._below(key, item, kind) for item in value]
        return value

    def _everywhere(self, value: Any) -> Any:
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, dict):
            return {name: self._everywhere(item) for name, item in value.items()}
        if isinstance(value, list):
            return [self._everywhere(item) for item in value]
        return value


def _replaced(pieces: Iterator[bytes], form: bytes, mark: bytes, found: Callable[[], None]) -> Iterator[bytes]:
    held = b""
    for piece in pieces:
        held += piece
        at = 0
        if form in held:
            found()
            at = _end_of_last(held, form)
        cut = max(at, len(held) - len(form) + 1)
        yield held[:at].replace(form, mark) + held[at:cut]
        held = held[cut:]
    yield held


def _end_of_last(data: bytes, form: bytes) -> int:
    """Where the last one ends that `bytes.replace` would replace."""
    end = 0
    while (at := data.find(form, end)) >= 0:
        end = at + len(form)
    return end


def _spellings(value: str) -> set[str]:
    """The value as it is, and as it stands in JSON, also in JSON inside JSON."""
    found = {value}
    for _ in range(2):
        for form in list(found):
            for ascii_only in (False, True):
                escaped = json.dumps(form, ensure_ascii=ascii_only)[1:-1]
                found |= {escaped, escaped.replace("/", "\\/")}
    return found
