"""The base class of the views of a running trial."""

from __future__ import annotations

from types import TracebackType
from typing import Self

from trajectories.record.events import BaseEvent


class ProgressView:
    """A view of a trial while its context is open. This one shows nothing; subclasses override what they show."""

    def __enter__(self) -> Self:
        """Begin to show the trial."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """End the view."""

    def feed(self, event: BaseEvent) -> None:
        """Show an event that has been recorded."""

    def note(self, line: str) -> None:
        """Show a line that belongs to no event, such as the progress of an image's pull."""
