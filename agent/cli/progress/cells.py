"""Texts cut to the width of a terminal, which is counted in cells: a character may take two of them, or none."""

from __future__ import annotations

from collections.abc import Iterable

from rich.cells import cell_len, set_cell_size
from rich.text import Text

GAP = "   "
"""Space between two pieces on one line."""


def packed(pieces: Iterable[str], width: int, style: str = "dim") -> list[Text]:
    """Return the pieces side by side, on as many lines as they need."""
    lines: list[str] = []
    for piece in pieces:
        if lines and cell_len(lines[-1] + GAP + piece) <= width:
            lines[-1] += GAP + piece
        else:
            lines.append(piece)
    return [cut(line, width, style) for line in lines]


def cut(text: str, width: int, style: str = "") -> Text:
    """Return a text as one line of at most this many cells."""
    return Text(cells(text, width), style)


def cells(text: str, width: int) -> str:
    """Return a text with at most this many cells; a cut one ends with dots."""
    if cell_len(text) <= width:
        return text
    dots = "..."[: max(0, width - 1)]
    return set_cell_size(text, width - len(dots)) + dots
