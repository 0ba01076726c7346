"""Errors of the readers and writers of other programs' formats."""

from __future__ import annotations

from trajectories.errors import RecordError


class BadDocument(RecordError):
    """A file that cannot be imported; the message names the file, the place in it, and the problem."""

    def __init__(self, problem: str, place: str = "") -> None:
        """Take a place within the document, for instance `messages[3].extra`; the caller adds the file's name."""
        super().__init__(f"{place}: {problem}" if place else problem)


class CannotExport(RecordError):
    """A trial that cannot be written in the requested format."""
