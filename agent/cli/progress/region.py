"""The lines of a terminal that the live view draws again and again, directly above the cursor.

The cursor stays visible, in the first column below the lines, so that a process that is killed leaves nothing to clean.
Lines are never wrapped while they are drawn: a terminal may give a character another width than we do.
"""

from __future__ import annotations

from collections.abc import Sequence

_UP = "\x1b[{}A"
_CLEAR_LINE = "\x1b[K"
_CLEAR_BELOW = "\x1b[J"
_WRAP_OFF = "\x1b[?7l"
_WRAP_ON = "\x1b[?7h"


class Region:
    """The drawn lines, of which only the widths are known."""

    def __init__(self) -> None:
        self._widths: tuple[int, ...] = ()

    def redraw(self, lines: Sequence[str], widths: Sequence[int], width: int, height: int) -> str:
        """Return what draws these lines in place of the last ones; `widths` are theirs, the others the terminal's."""
        text = self._to_top(width, height) + _WRAP_OFF
        text += "".join(f"{line}{_CLEAR_LINE}\r\n" for line in lines) + _CLEAR_BELOW + _WRAP_ON
        self._widths = tuple(widths)
        return text

    def clear(self, width: int, height: int) -> str:
        """Return what removes the lines."""
        text = self._to_top(width, height) + _CLEAR_BELOW
        self._widths = ()
        return text

    def _to_top(self, width: int, height: int) -> str:
        """Return the way from the cursor to the first line.

        A terminal that has become narrower has broken the wider lines into several.
        """
        rows = sum(max(1, -(-line // max(1, width))) for line in self._widths)
        rows = min(rows, max(0, height - 1))
        return "\r" + (_UP.format(rows) if rows else "")
