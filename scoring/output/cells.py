"""Tables as values: columns with a key, a title and a kind, and rows of cells by key.

A cell is a plain value or an `Estimate`. The kind of a column decides how a cell is printed for people; data files
hold the raw value.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Generic, Literal, TypeVar

from scoring.statistics.intervals import Estimate

Kind = Literal["text", "count", "share", "usd", "score", "difference", "points", "number", "seconds"]
"""Kinds of cells. `share` is a part of 1 and printed in percent; `difference` is a difference of shares and printed in
percentage points. `score` and `points` (a difference of scores) are AMS, from 0 to 1. `seconds` are printed in
minutes."""
Cell = str | int | float | None | Estimate
Item = TypeVar("Item")


@dataclass(frozen=True)
class Column:
    """One column of a table."""

    key: str
    """Name of the column in data files."""
    title: str
    """Heading of the column for people."""
    kind: Kind


@dataclass(frozen=True)
class ReportColumn(Column, Generic[Item]):
    """A column with the function that takes its cell from an item of the report."""

    cell: Callable[[Item], Cell]


@dataclass(frozen=True)
class ReportTable:
    """A table of a report. Every row has one cell for each column, by the column's key."""

    name: str
    title: str
    columns: tuple[Column, ...]
    rows: tuple[Mapping[str, Cell], ...]


def tabulate(name: str, title: str, columns: Sequence[ReportColumn[Item]], items: Iterable[Item]) -> ReportTable:
    """Return the table that has one row for each item."""
    rows = tuple({column.key: column.cell(item) for column in columns} for item in items)
    return ReportTable(name, title, tuple(columns), rows)


def text(cell: Cell, kind: Kind) -> str:
    """Return a cell as people read it: an estimate with its interval and number of trials, a dash for an unknown or
    undefined value."""
    if not isinstance(cell, Estimate):
        return "-" if cell is None else _value_text(cell, kind)
    if cell.value is None:
        return f"- n={cell.trials}"
    interval = ""
    if cell.low is not None and cell.high is not None:
        low, high = (_value_text(bound, kind).rstrip("%").lstrip("$") for bound in (cell.low, cell.high))
        interval = f" [{low}, {high}]"
    return f"{_value_text(cell.value, kind)}{interval} n={cell.trials}"


def _value_text(value: str | int | float, kind: Kind) -> str:
    if isinstance(value, str):
        return value
    match kind:
        case "share":
            return f"{100 * value:.1f}%"
        case "difference":
            return f"{100 * value:+.1f}"
        case "usd":
            return f"${value:,.2f}" if value >= 10 else f"${value:.3g}" if value < 1e-3 else f"${value:.3f}"
        case "score":
            return f"{value:.3f}"
        case "points":
            return f"{value:+.3f}"
        case "seconds":
            return f"{value / 60:,.1f}"
        case "number":
            return f"{value:,.0f}" if abs(value) >= 100 else f"{value:,.1f}"
        case _:
            return f"{value:,}"
