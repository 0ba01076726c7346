"""Reading of single fields of a document: the result is a value, an error with its place, or unknown with a note."""

from __future__ import annotations

from collections import Counter
from typing import Any

from trajectories.formats.errors import BadDocument
from trajectories.writing import excerpts

_LATEST = 253_402_300_799.0
"""End of the year 9999, in Unix seconds."""
_MOST = 1e15
"""Largest figure that is accepted as a count, a time or a price."""


class Oddities:
    """Irregularities that were accepted: a count of each kind, with the first place."""

    def __init__(self) -> None:
        self._count: Counter[str] = Counter()
        self._first: dict[str, str] = {}

    def add(self, kind: str, place: str = "") -> None:
        """Note one case of a kind."""
        self._count[kind] += 1
        self._first.setdefault(kind, place)

    def lines(self) -> tuple[str, ...]:
        """Return one line for each kind."""
        lines = []
        for kind, count in self._count.items():
            place = self._first[kind]
            more = f" and {count - 1} more" if count > 1 else ""
            lines.append(f"{kind} ({place}{more})" if place else kind)
        return tuple(lines)


def part(value: dict[str, Any], name: str, place: str) -> dict[str, Any]:
    """Return a member that is an object; empty if it is absent or null.

    Raises: BadDocument if it is something else.
    """
    member = value.get(name)
    if member is None:
        return {}
    if not isinstance(member, dict):
        raise BadDocument(f"{_kind(member)} instead of an object", f"{place}.{name}" if place else name)
    return member


def items(value: dict[str, Any], name: str, place: str) -> list[dict[str, Any]]:
    """Return a member that is a list of objects; empty if it is absent or null.

    Raises: BadDocument.
    """
    members = value.get(name)
    if members is None:
        return []
    if not isinstance(members, list) or not all(isinstance(item, dict) for item in members):
        raise BadDocument("not a list of objects", f"{place}.{name}")
    return members


def text_of(content: Any, place: str) -> str:
    """Return a message's text from a string, null, or a list of parts whose texts are joined.

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
    raise BadDocument(f"{_kind(content)} instead of a text", place)


def amount(value: Any, label: str, place: str, oddities: Oddities) -> float | None:
    """Return a figure that is not negative; None, with a note, for anything else."""
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= _MOST:
        oddities.add(f"{label} {excerpts.beginning(str(value), 40)} is impossible and counts as unknown", place)
        return None
    return float(value)


def time_of(value: Any, place: str, oddities: Oddities) -> float | None:
    """Return Unix seconds; None, with a note, for anything else."""
    seconds = amount(value, "a time of", place, oddities)
    if seconds is not None and seconds > _LATEST:
        oddities.add(f"a time of {seconds:g} is impossible and counts as unknown", place)
        return None
    return seconds


def count(value: Any, label: str, place: str, oddities: Oddities) -> int | None:
    """Return a whole number that is not negative; None, with a note, for anything else."""
    figure = amount(value, label, place, oddities)
    return None if figure is None else int(figure)


def word(value: Any) -> str | None:
    """Return a text that is not empty; None for everything else."""
    return value if isinstance(value, str) and value else None


def _kind(value: Any) -> str:
    return {dict: "an object", list: "a list", str: "a text", bool: "true or false"}.get(type(value), "a number")
