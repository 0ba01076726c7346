"""The view of a trial in a terminal: a few lines that are drawn again and again.

The trial only queues its events, so it never waits for the terminal. While a person answers a question of the agent,
nothing is drawn.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Sequence
from typing import TYPE_CHECKING, TextIO

from agent.cli.progress.drawing import EVERY_S, Drawing
from agent.cli.progress.state import ProgressState
from agent.cli.progress.view import ProgressView
from trajectories.record.events import BaseEvent, Exited, Paused, Resumed

if TYPE_CHECKING:
    from rich.text import Text

__all__ = ["EVERY_S", "LiveView"]


class LiveView(Drawing, ProgressView):
    """A live display of what `page` shows."""

    def __init__(self, state: ProgressState, stream: TextIO) -> None:
        super().__init__(stream)
        self._state = state
        self._queue: deque[tuple[BaseEvent | str, float]] = deque()

    def feed(self, event: BaseEvent) -> None:
        """Queue an event."""
        self._queue.append((event, time.monotonic()))
        match event:
            case Paused(why="guidance") if self._state.asks_person:
                self.hide()
            case Resumed() | Exited():
                self.reveal()

    def note(self, line: str) -> None:
        """Queue a line."""
        self._queue.append((line, time.monotonic()))

    def take_in(self) -> None:
        """See `Drawing`."""
        while self._queue:
            item, at = self._queue.popleft()
            if isinstance(item, str):
                self._state.note(item, at)
            else:
                self._state.feed(item, at)

    def page(self, width: int, height: int) -> Sequence[Text]:
        """See `Drawing`."""
        from agent.cli.progress.page import page

        return page(self._state, width, height, time.monotonic())

    def leave(self) -> None:
        """See `Drawing`."""
        self._queue = deque(maxlen=0)
