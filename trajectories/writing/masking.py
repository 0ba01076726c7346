"""Masks known secrets at the moment of writing.

Masking is by value, never by pattern: a pattern misses keys and changes innocent text. Which texts of an event are
masked is part of their type (`trajectories.record.base.Masked`). Names, kinds, numbers and hashes are never changed:
a secret that looks like one must not make a record unreadable.
"""

from __future__ import annotations

import functools
import json
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, TypeVar, get_args
from urllib.parse import quote, quote_plus

from pydantic import BaseModel

from trajectories.record.base import Masked

_SECRET_NAME = re.compile(
    r"(^|_)(api_?key|key|token|secret|password|passwd|pass|pat|credentials?)(_|$)(?!.*(path|file|dir|name|url|sock)$)",
    re.IGNORECASE,
)
MASK = "[secret:"
"""Beginning of the text that replaces a secret."""
_SHORTEST = 8
"""Shortest value that is masked. Shorter ones would match innocent text."""
_EVERYWHERE = Masked()
_ESCAPE = re.compile("%[0-9A-F]{2}")
M = TypeVar("M", bound=BaseModel)


class Masker:
    """Replacement of each known secret by `[secret:NAME]`."""

    def __init__(self, secrets: Mapping[str, str] | None = None) -> None:
        """Know these secrets, given as a mapping of names to values. Values under 8 characters are ignored."""
        masked = {name: value for name, value in (secrets or {}).items() if len(value) >= _SHORTEST}
        pairs = {form: f"{MASK}{name}]" for name, value in masked.items() for form in _spellings(value)}
        self._texts = sorted(pairs.items(), key=lambda pair: -len(pair[0]))
        self._bytes = [
            (form.encode("utf-8", "surrogateescape"), mark.encode("utf-8", "surrogateescape"))
            for form, mark in self._texts
        ]
        lines = {form for form, _ in self._texts} | {
            json.dumps(form, ensure_ascii=False)[1:-1] for form, _ in self._texts
        }
        self._in_lines = [form.encode("utf-8", "surrogateescape") for form in lines]

    @classmethod
    def from_environment(cls, environ: Mapping[str, str] = os.environ) -> Masker:
        """Know the values of all variables that are named like a key, a token, a secret or a password."""
        return cls({name: value for name, value in environ.items() if _SECRET_NAME.search(name)})

    def occurs_in(self, line: bytes) -> bool:
        """Return True if a line of JSON may hold a secret."""
        return any(form in line for form in self._in_lines)

    def data(self, data: bytes) -> tuple[bytes, bool]:
        """Return the bytes with secrets masked, and True if there were any."""
        masked = False
        for form, mark in self._bytes:
            if form in data:
                data, masked = data.replace(form, mark), True
        return data, masked

    def pieces(
        self, pieces: Iterator[bytes], on_secret: Callable[[], None], *, cut_off: bool = False
    ) -> Iterator[bytes]:
        """Yield what `data` returns for all pieces together, and call `on_secret` when a piece completes a secret.

        With `cut_off`, the part of a secret at the very end is masked too, as `beginning` does.
        """
        for form, mark in self._bytes:
            pieces = _replaced(pieces, form, mark, on_secret)
        return self._beginning_of(pieces, on_secret) if cut_off and self._bytes else pieces

    def _beginning_of(self, pieces: Iterator[bytes], on_secret: Callable[[], None]) -> Iterator[bytes]:
        longest = max(len(form) for form, _ in self._bytes)
        held = b""
        for piece in pieces:
            held += piece
            yield held[:-longest]
            held = held[-longest:]
        masked = self.beginning(held)
        if masked != held:
            on_secret()
        yield masked

    def beginning(self, data: bytes) -> bytes:
        """Return bytes that were cut off, with the part of a secret at their end masked, from 8 bytes on."""
        cuts = ((_overlap(data, form), mark) for form, mark in self._bytes)
        length, mark = max(cuts, default=(0, b""))
        return data[: len(data) - length] + mark if length else data

    def ending(self, data: bytes) -> bytes:
        """Return bytes whose beginning was cut off, with the part of a secret at their beginning masked."""
        cuts = ((_overlap(data[::-1], form[::-1]), mark) for form, mark in self._bytes)
        length, mark = max(cuts, default=(0, b""))
        return mark + data[length:] if length else data

    def text(self, text: str) -> str:
        """Return the text with secrets masked."""
        for form, mark in self._texts:
            text = text.replace(form, mark)
        return text

    def event(self, event: M) -> M:
        """Return the event with secrets masked in every field that its type marks as `Masked`."""
        changes = {}
        for name, mark in _marks(type(event)).items():
            value = getattr(event, name)
            masked = self._below(value, mark)
            if masked != value:
                changes[name] = masked
        return event.model_copy(update=changes) if changes else event

    def _below(self, value: Any, mark: Masked | None) -> Any:
        match value:
            case BaseModel():
                return self.event(value)
            case str():
                return self.text(value) if mark == _EVERYWHERE else value
            case list() | tuple():
                return type(value)(self._below(item, mark) for item in value)
            case dict():
                chosen = frozenset() if mark is None or mark.below is None else mark.below
                return {key: self._below(item, _EVERYWHERE if key in chosen else mark) for key, item in value.items()}
        return value


@functools.cache
def _marks(model: type[BaseModel]) -> dict[str, Masked | None]:
    """Return the mark of each field of a model; a record inside of it has marks of its own."""
    return {name: _mark(field.annotation, field.metadata) for name, field in model.model_fields.items()}


def _mark(annotation: object, metadata: Iterable[object] = ()) -> Masked | None:
    for entry in (*metadata, *getattr(annotation, "__metadata__", ())):
        if isinstance(entry, Masked):
            return entry
    return next((mark for part in get_args(annotation) if (mark := _mark(part)) is not None), None)


def _replaced(pieces: Iterator[bytes], form: bytes, mark: bytes, on_secret: Callable[[], None]) -> Iterator[bytes]:
    held = b""
    for piece in pieces:
        held += piece
        at = 0
        if form in held:
            on_secret()
            at = _end_of_last(held, form)
        cut = max(at, len(held) - len(form) + 1)
        yield held[:at].replace(form, mark) + held[at:cut]
        held = held[cut:]
    yield held


def _end_of_last(data: bytes, form: bytes) -> int:
    """Return the end of the last occurrence that `bytes.replace` would replace."""
    end = 0
    while (at := data.find(form, end)) >= 0:
        end = at + len(form)
    return end


def _overlap(data: bytes, form: bytes) -> int:
    """Return the length of the longest part of a secret that begins it and ends the data; 0 if it is harmless."""
    lengths = range(min(len(form) - 1, len(data)), _SHORTEST - 1, -1)
    return next((length for length in lengths if data.endswith(form[:length])), 0)


def _spellings(value: str) -> set[str]:
    """Return the spellings of a value: as it is, in a URL, path or repr, and each of them in JSON, once and twice."""
    percent = {quote(value, safe=safe, errors="surrogateescape") for safe in ("", "/")}
    percent.add(quote_plus(value, errors="surrogateescape"))
    percent |= {_ESCAPE.sub(lambda match: match[0].lower(), text) for text in percent}
    quoted = repr(value)[1:-1]
    spellings = {value, value.replace("\\", "\\\\"), quoted, quoted.replace("'", "\\'"), *percent}
    for _ in range(2):
        for form in list(spellings):
            for ascii_only in (False, True):
                escaped = json.dumps(form, ensure_ascii=ascii_only)[1:-1]
                spellings |= {escaped, escaped.replace("/", "\\/")}
    return spellings
