"""The lines of a live view, which a thread of their own draws on a terminal four times a second.

What anything else writes to standard error in the meantime is shown above the lines. A view may hide itself while a
person uses the terminal.
"""

from __future__ import annotations

import io
import os
import sys
import threading
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Self, TextIO

from agent.cli.progress.region import Region
from trajectories.record.texts.text import printable
from trajectories.writing import excerpts

if TYPE_CHECKING:
    from rich.text import Text

EVERY_S = 0.25
"""Time between two frames."""
_SIZE = (80, 24)
"""Columns and lines of a terminal that does not tell them."""

_PLAIN_TERMINALS = ("", "dumb", "unknown")


def is_drawable(stream: TextIO | None) -> bool:
    """Return True for a terminal on which lines can be drawn again."""
    return stream is not None and stream.isatty() and os.environ.get("TERM", "") not in _PLAIN_TERMINALS


class Drawing(ABC):
    """A live display. Subclasses tell its lines."""

    def __init__(self, stream: TextIO) -> None:
        from rich.console import Console

        self._stream = stream
        self._console = Console(file=stream, highlight=False, markup=False, emoji=False)
        self._region = Region()
        self._others = _Queued(stream)
        self._stderr = stream
        self._ended = threading.Event()
        self._drawing = threading.Lock()
        self._hidden = False
        """True while a person types an answer into the terminal."""
        self._thread = threading.Thread(target=self._draw_until_end, name="progress", daemon=True)

    @abstractmethod
    def take_in(self) -> None:
        """Take in what came since the last frame. Called by the thread that draws."""

    @abstractmethod
    def page(self, width: int, height: int) -> Sequence[Text]:
        """Return the lines for a terminal of this size, each narrower than it and together lower."""

    @abstractmethod
    def leave(self) -> None:
        """Forget everything: nothing is drawn from now on."""

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

    def hide(self) -> None:
        """Leave the terminal to a person: once this returns, nothing is drawn."""
        with self._drawing:
            if not self._hidden:
                self._hidden = True
                self._write(self.frame(ended=True))
                sys.stderr = self._stderr

    def reveal(self) -> None:
        """Draw again."""
        with self._drawing:
            if self._hidden:
                self._hidden = False
                sys.stderr = self._others

    @property
    def is_drawing(self) -> bool:
        """True until the end, or until the terminal is gone."""
        return self._thread.is_alive()

    def write_above(self, line: str) -> None:
        """Show a line above the display at the next frame."""
        self._others.write(f"{line}\n")

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
            pass  # the terminal is gone; the work goes on without a view
        finally:
            self.leave()

    def frame(self, *, ended: bool) -> str:
        """Take in what is new, and return what brings the terminal up to date."""
        self.take_in()
        width, height = _size(self._stream)
        others = self._others.take(ended=ended)
        text = self._region.clear(width, height) + others if others or ended else ""
        if not ended:
            lines = self.page(width, height)
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
    """Text that others write to standard error while the view is shown."""

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
