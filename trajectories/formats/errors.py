"""What readers and writers of other programs' formats raise, and the one way they write JSON."""

from __future__ import annotations

import json
from typing import Any

from trajectories.errors import RecordError


class BadDocument(RecordError):
    """A file that cannot be imported; the message names the file, the place in it, and what is wrong."""

    def __init__(self, problem: str, place: str = "") -> None:
        """`place` is within the document, for instance `messages[3].extra`; the file's name comes later."""
        super().__init__(f"{place}: {problem}" if place else problem)


class CannotExport(RecordError):
    """A trial that cannot be written in the format that was asked for."""


def dumped(value: Any, *, indent: int | None = None) -> bytes:
    """A value as JSON text, ASCII only.

    Raises: CannotExport for NaN and infinities, which JSON has not.
    """
    try:
        return json.dumps(value, indent=indent, allow_nan=False).encode()
    except ValueError:
        raise CannotExport("the trial holds a number that JSON cannot say (NaN or an infinity)") from None
