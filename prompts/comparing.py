"""The differences of two prompts, key by key."""

from __future__ import annotations

import difflib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

import yaml

from prompts.prompt import Prompt


@dataclass(frozen=True)
class Difference:
    """A key that two prompts do not have in common, or not with the same value."""

    key: str
    change: Literal["added", "removed", "changed"]
    lines: tuple[str, ...]
    """The value's lines as a unified diff: the first character is `-`, `+` or a blank."""


def differences(old: Prompt, new: Prompt) -> Iterator[Difference]:
    """Yield the differences of two complete prompts, in the order of the first one's keys."""
    before, after = _content(old), _content(new)
    for key in {**before, **after}:
        if before.get(key) == after.get(key):
            continue
        change: Literal["added", "removed", "changed"] = "changed"
        if key not in before or key not in after:
            change = "removed" if key in before else "added"
        yield Difference(key, change, tuple(_lines(before.get(key), after.get(key))))


def _content(prompt: Prompt) -> dict[str, Any]:
    content: dict[str, Any] = yaml.safe_load(prompt.data)
    return content


def _lines(before: object, after: object) -> Iterator[str]:
    compared = difflib.unified_diff(_text(before), _text(after), lineterm="", n=1)
    for number, line in enumerate(compared):
        if number > 1:  # after the names of the files
            yield line


def _text(value: object) -> list[str]:
    if isinstance(value, dict):
        return [f"{name}: {text}" for name, text in value.items()]
    return [] if value is None else str(value).splitlines()
