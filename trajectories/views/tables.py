"""Tables as text: the one place in which tables for a terminal or a pipe are made.

A table that is wider than the terminal leaves out columns, the least important first, and names them in a note below.
Cells are never folded, and numbers and names are never cut. A pipe gets all columns, separated by tabs without padding.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from trajectories.record.texts.text import printable

if TYPE_CHECKING:
    from rich.console import Console

UNLIMITED = 1000
"""Width of an output that is not a terminal; nothing is left out, and nothing is padded."""
ALWAYS = 0
"""Rank of a column that is never left out."""
_GAP = 2
"""Space between columns, in characters."""
_LEAST_EXCERPT = 24
"""Least width to which an excerpt is cut; with less space its column is left out."""
_EMPTY = ("", "-")
_ON_ONE_LINE = str.maketrans("\n\t", "  ")


@dataclass(frozen=True)
class TextColumn:
    """A column of a table."""

    title: str
    """Heading on a terminal."""
    right: bool = False
    """True if cells are aligned to the right."""
    rank: int = 1
    """Columns take their place in this order, those of equal rank from the left. `ALWAYS` is never left out."""
    name: str = ""
    """Heading in a pipe and name in the note, if the title needs its neighbors to be understood."""
    is_excerpt: bool = False
    """True for free text, of which a terminal shows as much as fits. Only the last column may be one."""


@dataclass(frozen=True)
class TextTable:
    """A table of texts, a row for each item and a cell for each column."""

    columns: Sequence[TextColumn]
    rows: Sequence[Sequence[str]]
    title: str = ""
    has_header: bool = True

    def lines(self, width: int) -> Iterator[str]:
        """Yield the lines of the table for an output of this width, with title and note."""
        if self.title:
            yield self.title
        if width >= UNLIMITED:
            yield from self._separated()
        else:
            yield from self._aligned(width)

    def print(self, console: Console) -> None:
        """Print the table for the width of the console."""
        from rich.text import Text

        if console.width >= UNLIMITED:  # rich would print a tab as spaces
            console.file.writelines(f"{line}\n" for line in self.lines(console.width))
            return
        bold = bool(self.title) + self.has_header
        for number, line in enumerate(self.lines(console.width)):
            console.print(Text(line, "bold" if number < bold else ""), soft_wrap=True)

    def _separated(self) -> Iterator[str]:
        if self.has_header:
            yield "\t".join(column.name or column.title for column in self.columns)
        for row in self.rows:
            yield "\t".join(map(_on_one_line, row))

    def _aligned(self, width: int) -> Iterator[str]:
        widths = self._widths()
        places = [
            place
            for place, column in enumerate(self.columns)
            if column.rank == ALWAYS or any(row[place] not in _EMPTY for row in self.rows)
        ]
        shown_places = [place for place in places if self.columns[place].rank == ALWAYS]
        for place in sorted(set(places) - set(shown_places), key=lambda place: (self.columns[place].rank, place)):
            if _total(self._least([*shown_places, place], widths)) <= width:
                shown_places.append(place)
        left_out = sorted(set(places) - set(shown_places))
        places = sorted(shown_places)
        if places and self.columns[places[-1]].is_excerpt:
            last = places[-1]
            rest = width - _total([widths[place] for place in places[:-1]] + [0])
            widths[last] = min(widths[last], max(_LEAST_EXCERPT, rest))
        shown = [(place, widths[place], self.columns[place].right) for place in places]
        if self.has_header:
            yield _line([column.title for column in self.columns], shown)
        for row in self.rows:
            yield _line(row, shown)
        if left_out:
            names = ", ".join(self.columns[place].name or self.columns[place].title for place in left_out)
            note = f"not shown in {width} columns: {names} (a wider terminal or a pipe shows all)"
            yield from textwrap.wrap(note, max(width, _LEAST_EXCERPT))

    def _widths(self) -> list[int]:
        widths = [_length(column.title) if self.has_header else 0 for column in self.columns]
        for row in self.rows:
            for place, cell in enumerate(row):
                length = _length(_on_one_line(cell))
                if length > widths[place]:
                    widths[place] = length
        return widths

    def _least(self, places: Sequence[int], widths: Sequence[int]) -> list[int]:
        """Return the least widths of these columns."""
        return [
            min(widths[place], _LEAST_EXCERPT) if self.columns[place].is_excerpt else widths[place] for place in places
        ]


def facts_table(facts: Sequence[tuple[str, str]]) -> TextTable:
    """Return a table of names and values. A long value flows into the next lines of the terminal."""
    return TextTable((TextColumn("name", rank=ALWAYS), TextColumn("value", rank=ALWAYS)), facts, has_header=False)


def _line(row: Sequence[str], shown: Sequence[tuple[int, int, bool]]) -> str:
    cells = []
    for place, width, right in shown:
        cell = _on_one_line(row[place])
        length = _length(cell)
        if length > width:
            cell = _cut(cell, width)
            length = _length(cell)
        padding = " " * (width - length)
        cells.append(padding + cell if right else cell + padding)
    return (" " * _GAP).join(cells).rstrip()


def _cut(text: str, width: int) -> str:
    while _length(text) >= width:
        text = text[: width - 1 - len(text)] if len(text) > width else text[:-1]
    return f"{text}…"


def _on_one_line(cell: str) -> str:
    return cell if cell.isprintable() else printable(cell.translate(_ON_ONE_LINE))


def _length(text: str) -> int:
    """Return the number of columns that the text takes in a terminal."""
    if text.isascii():
        return len(text)
    from rich.cells import cell_len

    return cell_len(text)


def _total(widths: Sequence[int]) -> int:
    return sum(widths) + _GAP * max(0, len(widths) - 1)
