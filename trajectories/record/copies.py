"""Copies of a reply's texts in the provider's message: left out of the record's line, and put back when it is read.

A provider's message repeats the text of the reply and the arguments of its tool calls. In a line of the record, null
stands in the place of such a copy. The places are those of chat completions, of Anthropic's content blocks and of the
Responses API; everything else in the message stays as it came.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any

from trajectories.record.base import Json

LINE: Mapping[str, bool] = MappingProxyType({"line": True})
"""Context of `model_dump_json` for a line of the record. Every other output has all copies."""


def without_copies(message: Json, text: str, arguments: Sequence[str]) -> Json | None:
    """Return the message with null in the place of each copy. None if it has none, or could not be restored."""
    short = _fresh(message)
    has_copies = False
    for place, key, copy in _places(short, text, arguments):
        if place.get(key) == copy:
            place[key] = None
            has_copies = True
    return short if has_copies and with_copies(short, text, arguments) == message else None


def with_copies(message: Json, text: str, arguments: Sequence[str]) -> Json:
    """Return the message with each copy in its place again."""
    whole: Json = _fresh(message)
    for place, key, copy in _places(whole, text, arguments):
        if key in place and place[key] is None:
            place[key] = copy
    return whole


def _places(message: Json, text: str, arguments: Sequence[str]) -> Iterator[tuple[Json, str, str]]:
    """Yield each place of a copy: an object, its key, and the text that stands there."""
    items = _objects(message.get("output"))
    parts = [*_objects(message.get("content")), *(part for item in items for part in _objects(item.get("content")))]
    texts = [part for part in parts if part.get("type") in ("text", "output_text")]
    calls = [*_objects([call.get("function") for call in _objects(message.get("tool_calls"))])]
    calls += [item for item in items if item.get("type") == "function_call"]
    if text and not items:
        yield message, "content", text
    if text and len(texts) == 1:
        yield texts[0], "text", text
    if len(calls) == len(arguments):
        yield from ((call, "arguments", copy) for call, copy in zip(calls, arguments, strict=True) if copy)


def _objects(value: Any) -> list[Json]:
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def _fresh(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _fresh(item) for key, item in value.items()}
    return [_fresh(item) for item in value] if isinstance(value, list) else value
