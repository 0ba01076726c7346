"""Reading single fields of a foreign document: the right type, or an error with its place, or unknown with a note."""

from __future__ import annotations

from collections import Counter
from typing import Any

from trajectories.formats.errors import BadDocument

_LATEST = 253_402_300_799.0
"""The end of the year 9999, in Unix seconds."""


_MOST = 1e15
"""A figure above this is no count, no time and no price."""


class Oddities:
    """What was read tolerantly: counted by what it is, with the first place."""

    def __init__(self) -> None:
        self._count: Counter[str] = Counter()
        self._first: dict[str, str] = {}

    def add(self, what: str, place: str = "") -> None:
        """Note one case of `what`."""
        self._count[what] += 1
        self._first.setdefault(what, place)

    def lines(self) -> tuple[str, ...]:
        """One line for each kind."""
        found = []
        for what, count in self._count.items():
            where = self._first[what]
            more = f" and {count - 1} more" if count > 1 else ""
            found.append(f"{what} ({where}{more})" if where else what)
        return tuple(found)


def part(value: dict[str, Any], name: str, place: str) -> dict[str, Any]:
    """An object below; empty if absent or null.

    Raises: BadDocument if it is something else.
    """
    found = value.get(name)
    if found is None:
        return {}
    if not isinstance(found, dict):
        raise BadDocument(f"{_kind(found)} where an object belongs", f"{place}.{name}" if place else name)
    return found


def items(value: dict[str, Any], name: str, place: str) -> list[dict[str, Any]]:
    """A list of objects below; empty if absent or null.

    Raises: BadDocument.
    """
    found = value.get(name)
    if found is None:
        return []
    if not isinstance(found, list) or not all(isinstance(item, dict) for item in found):
        raise BadDocument("no list of objects", f"{place}.{name}")
    return found


def text_of(content: Any, place: str) -> str:
    """A message's text: a string, null, or a list of parts of which the texts are joined.

    Raises: BadDocument.
    """
    if content is None:
        return ""
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        return "".join(
            part["text"] if isinstance(part, dict) and isinstance(part.get("text"), str) else "" for part in content
        )
    raise BadDocument(f"{_kind(content)} where a text belongs", place)


def amount(value: Any, what: str, place: str, oddities: Oddities) -> float | None:
    """A figure that cannot be negative; None, with a note, if it is none."""
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= _MOST:
        oddities.add(f"{what} {str(value)[:40]} is no possible figure and counts as unknown", place)
        return None
    return float(value)


def time_of(value: Any, place: str, oddities: Oddities) -> float | None:
    """Unix seconds; None, with a note, if it is no time."""
    found = amount(value, "a time of", place, oddities)
    if found is not None and found > _LATEST:
        oddities.add(f"a time of {found:g} is no possible figure and counts as unknown", place)
        return None
    return found


def count(value: Any, what: str, place: str, oddities: Oddities) -> int | None:
    """A whole number, not negative."""
    found = amount(value, what, place, oddities)
    return None if found is None else int(found)


def word(value: Any) -> str | None:
    """A text that is not empty; None for everything else."""
    return value if isinstance(value, str) and value else None


def _kind(value: Any) -> str:
    return {dict: "an object", list: "a list", str: "a text", bool: "true or false"}.get(type(value), "a number")
