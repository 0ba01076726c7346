"""The view of a trial in a terminal: a few lines that a thread of their own draws four times a second.

The trial only queues its events, so it never waits for the terminal. What anything else writes to standard error in the
meantime is shown above the lines. While a person answers a question of the agent, nothing is drawn.
"""

from __future__ import annotations

import io
import os
import sys
import threading
import time
from collections import deque
from types import TracebackType
from typing import TYPE_CHECKING, Self, TextIO

from agent.cli.progress.region import Region
from agent.cli.progress.state import ProgressState
from agent.cli.progress.view import ProgressView
from trajectories.record.events import BaseEvent, Exited, Paused, Resumed
from trajectories.record.texts.text import printable
from trajectories.writing import excerpts

if TYPE_CHECKING:
    from rich.text import Text

EVERY_S = 0.25
"""Time between two frames."""
_SIZE = (80, 24)
"""Columns and lines of a terminal that does not tell them."""


class LiveView(ProgressView):
    """A live display of what `page` shows."""

    def __init__(self, state: ProgressState, stream: TextIO) -> None:
        from rich.console import Console

        self._state = state
        self._stream = stream
        self._console = Console(file=stream, highlight=False, markup=False, emoji=False)
        self._region = Region()
        self._queue: deque[tuple[BaseEvent | str, float]] = deque()
        self._others = _Queued(stream)
        self._stderr = stream
        self._ended = threading.Event()
        self._drawing = threading.Lock()
        self._hidden = False
        """True while a person types an answer into the terminal."""
        self._thread = threading.Thread(target=self._draw_until_end, name="progress", daemon=True)

    def __enter__(self) -> Self:
        """Begin to draw."""
        self._stderr, sys.stderr = sys.stderr, self._others
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """Remove the display, and show what was written by others at last."""
        sys.stderr = self._stderr
        self._ended.set()
        self._thread.join()

    def _hide(self) -> None:
        """Leave the terminal to a person: once this returns, nothing is drawn."""
        with self._drawing:
            if not self._hidden:
                self._hidden = True
                self._write(self.frame(ended=True))
                sys.stderr = self._stderr

    def _show(self) -> None:
        """Draw again."""
        with self._drawing:
            if self._hidden:
                self._hidden = False
                sys.stderr = self._others

    @property
    def is_drawing(self) -> bool:
        """True until the end, or until the terminal is gone."""
        return self._thread.is_alive()

    def feed(self, event: BaseEvent) -> None:
        """Queue an event."""
        self._queue.append((event, time.monotonic()))
        match event:
            case Paused(why="guidance") if self._state.asks_person:
                self._hide()
            case Resumed() | Exited():
                self._show()

    def note(self, line: str) -> None:
        """Queue a line."""
        self._queue.append((line, time.monotonic()))

    def _draw_until_end(self) -> None:
        try:
            while True:
                ended = self._ended.wait(EVERY_S)
                with self._drawing:
                    if not self._hidden or ended:
                        self._write(self.frame(ended=ended))
                if ended:
                    return
        except (OSError, ValueError):
            pass  # the terminal is gone; the trial goes on without a view
        finally:
            self._queue = deque(maxlen=0)

    def _take_in(self) -> None:
        while self._queue:
            item, at = self._queue.popleft()
            if isinstance(item, str):
                self._state.note(item, at)
            else:
                self._state.feed(item, at)

    def frame(self, *, ended: bool) -> str:
        """Take in what is queued, and return what brings the terminal up to date."""
        from agent.cli.progress.page import page

        self._take_in()
        width, height = _size(self._stream)
        others = self._others.take(ended=ended)
        text = self._region.clear(width, height) + others if others or ended else ""
        if not ended:
            lines = page(self._state, width, height, time.monotonic())
            text += self._region.redraw(
                [self._colored(line) for line in lines], [line.cell_len for line in lines], width, height
            )
        return text

    def _colored(self, line: Text) -> str:
        with self._console.capture() as captured:
            self._console.print(line, end="", soft_wrap=True)
        return captured.get()

    def _write(self, text: str) -> None:
        self._stream.write(text)
        self._stream.flush()


class _Queued(io.StringIO):
    """What others write to standard error while the view is shown."""

    def __init__(self, stream: TextIO) -> None:
        super().__init__()
        self._stream = stream
        self._pieces: deque[str] = deque()  # without a lock: a signal's handler may write, too
        self._rest = ""

    def write(self, text: str) -> int:
        self._pieces.append(text)
        return len(text)

    def take(self, *, ended: bool) -> str:
        """Return the whole lines that were written since the last time, made safe for a terminal."""
        text = self._rest
        while self._pieces:
            text += self._pieces.popleft()
        if ended and text and not text.endswith("\n"):
            text += "\n"
        lines, newline, self._rest = text.rpartition("\n")
        return printable(excerpts.masked(lines)) + newline if newline else ""

    def isatty(self) -> bool:
        return self._stream.isatty()

    def fileno(self) -> int:
        return self._stream.fileno()


def _size(stream: TextIO) -> tuple[int, int]:
    """Return columns and lines of the terminal as they are now."""
    columns, lines = os.get_terminal_size(stream.fileno())
    return columns or _SIZE[0], lines or _SIZE[1]
