"""What a reader or a writer of another program's format raises."""

from __future__ import annotations

from trajectories.errors import RecordError


class BadDocument(RecordError):
    """A file that cannot be imported; the message names the file, the place in it, and what is wrong."""

    def __init__(self, problem: str, place: str = "") -> None:
        """`place` is within the document, for instance `messages[3].extra`; the file's name comes later."""
        super().__init__(f"{place}: {problem}" if place else problem)


class CannotExport(RecordError):
    """A trial that cannot be written in the format that was asked for."""
