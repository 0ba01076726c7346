"""What tables are made of, and how people read a cell.

A cell is a plain value or an `Estimate`; a column's kind says how people read it, files of data hold it raw.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from scoring.statistics.intervals import Estimate

Kind = Literal["text", "count", "share", "usd", "score", "difference", "points", "number", "seconds"]
"""`share` is of 1 and read in percent, `difference` is one of shares and read in percentage points, `score` and
`points` (its difference) are AMS, in 0 to 1; `seconds` are read in minutes."""
Cell = str | int | float | None | Estimate


@dataclass(frozen=True)
class Column:
    """`name` is what files call it, `title` what people read."""

    name: str
    kind: Kind
    title: str


@dataclass(frozen=True)
class Table:
    """Rows are as long as columns."""

    name: str
    title: str
    columns: tuple[Column, ...]
    rows: tuple[tuple[Cell, ...], ...]


def text(cell: Cell, kind: Kind) -> str:
    """As people read it: an estimate with its interval and number of trials; a dash is unknown or not defined."""
    if not isinstance(cell, Estimate):
        return "-" if cell is None else _said(cell, kind)
    if cell.value is None:
        return f"- n={cell.trials}"
    interval = ""
    if cell.low is not None and cell.high is not None:
        low, high = (_said(bound, kind).rstrip("%").lstrip("$") for bound in (cell.low, cell.high))
        interval = f" [{low}, {high}]"
    return f"{_said(cell.value, kind)}{interval} n={cell.trials}"


def _said(value: str | int | float, kind: Kind) -> str:
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


def table(name: str, title: str, columns: str, rows: Sequence[Sequence[Cell]]) -> Table:
    """`columns` is a line each: name, kind, title."""
    parsed = []
    for line in columns.strip().splitlines():
        column, kind, heading = line.split(None, 2)
        parsed.append(Column(column, kind, heading))  # type: ignore[arg-type]
    return Table(name, title, tuple(parsed), tuple(map(tuple, rows)))
