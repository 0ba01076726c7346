"""The view of a batch on a terminal: a table that is drawn again and again, and stays in its last state at the end."""

from __future__ import annotations

from collections.abc import Sequence
from types import TracebackType
from typing import TYPE_CHECKING, TextIO

from agent.batch.state.view import BatchState, BatchView
from agent.cli.progress.batches.page import page
from agent.cli.progress.drawing import Drawing
from trajectories.record.texts.text import printable
from trajectories.writing import excerpts

if TYPE_CHECKING:
    from rich.text import Text

_ALL_LINES = 1000


class LiveBatchView(Drawing, BatchView):
    """A live display of what `page` shows."""

    def __init__(self, stream: TextIO) -> None:
        super().__init__(stream)
        self._state: BatchState | None = None

    def show(self, state: BatchState) -> None:
        """Show this state from the next frame on."""
        self._state = state

    def note(self, line: str) -> None:
        """Show a line above the table."""
        self.write_above(printable(excerpts.masked(line)))

    def take_in(self) -> None:
        """See `Drawing`."""

    def page(self, width: int, height: int) -> Sequence[Text]:
        """See `Drawing`."""
        state = self._state
        return [] if state is None else page(state, width, height)

    def leave(self) -> None:
        """See `Drawing`."""

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """Remove the table, and write its last state with all running units."""
        is_drawing = self.is_drawing
        super().__exit__(kind, error, traceback)
        if self._state is not None and is_drawing:
            for text in page(self._state, self._console.width, _ALL_LINES):
                self._console.print(text, soft_wrap=True)
