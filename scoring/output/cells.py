"""Tables as values: columns with a key, a title and a kind, and rows of cells by key.

A cell is a plain value or an `Estimate`. The kind of a column decides how a cell is printed for people; data files
hold the raw value.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Generic, Literal, Protocol, TypeVar

from scoring.report import Report
from scoring.statistics.intervals import Estimate

Kind = Literal[
    "text", "count", "share", "usd", "score", "difference", "points", "number", "seconds", "more_usd", "more_seconds"
]
"""Kinds of cells. `share` is a part of 1 and printed in percent; `difference` is a difference of shares and printed in
percentage points. `score` and `points` (a difference of scores) are AMS, from 0 to 1. `seconds` are printed in
minutes. `more_usd` and `more_seconds` are differences."""
Cell = str | int | float | None | Estimate
Item = TypeVar("Item", contravariant=True)


@dataclass(frozen=True)
class Column:
    """One column of a table."""

    key: str
    """Name of the column in data files."""
    title: str
    """Heading of the column for people."""
    kind: Kind
    is_minor: bool = field(default=False, kw_only=True)
    """True for a column that a narrow terminal leaves out before the intervals of others."""


@dataclass(frozen=True)
class ReportColumn(Column, Generic[Item]):
    """A column with the function that takes its cell from an item of the report."""

    cell: Callable[[Item], Cell]


class Labeled(Protocol):
    """An item about one configuration."""

    @property
    def label(self) -> str:
        """Name of the configuration."""
        ...


CONFIGURATION: ReportColumn[Labeled] = ReportColumn("configuration", "configuration", "text", lambda row: row.label)
"""First column of a table with lines about configurations."""


@dataclass(frozen=True)
class ReportTable:
    """A table of a report. Every row has one cell for each column, by the column's key."""

    name: str
    title: str
    columns: tuple[Column, ...]
    rows: tuple[Mapping[str, Cell], ...]


@dataclass(frozen=True)
class TableDesign(Generic[Item]):
    """A table of a report: its columns, and the items that it has a row for."""

    name: str
    title: str | Callable[[Report], str]
    columns: Sequence[ReportColumn[Item]]
    items: Callable[[Report], Iterable[Item]]

    def of(self, report: Report) -> ReportTable:
        """Return the table of this report."""
        title = self.title if isinstance(self.title, str) else self.title(report)
        return tabulate(self.name, title, self.columns, self.items(report))


def tabulate(name: str, title: str, columns: Sequence[ReportColumn[Item]], items: Iterable[Item]) -> ReportTable:
    """Return the table that has one row for each item."""
    rows = tuple({column.key: column.cell(item) for column in columns} for item in items)
    return ReportTable(name, title, tuple(columns), rows)


def text(cell: Cell, kind: Kind) -> str:
    """Return a cell as people read it: an estimate with its interval and number of trials, a dash for an unknown or
    undefined value."""
    if not isinstance(cell, Estimate):
        return "-" if cell is None else _value_text(cell, kind)
    value, interval, trials = estimate_texts(cell, kind)
    return f"{value} {f'{interval} ' if interval else ''}n={trials}"


def estimate_texts(cell: Cell, kind: Kind) -> tuple[str, str, str]:
    """Return the value, the interval and the number of trials of an estimate; of another cell only the value."""
    if not isinstance(cell, Estimate):
        return text(cell, kind), "", ""
    if cell.value is None:
        return "-", "", str(cell.trials)
    interval = ""
    if cell.low is not None and cell.high is not None:
        low, high = (_value_text(bound, kind).rstrip("%").lstrip("$") for bound in (cell.low, cell.high))
        interval = f"[{low}, {high}]"
    return _value_text(cell.value, kind), interval, str(cell.trials)


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
        case "more_usd":
            return f"{'-' if value < 0 else '+'}{_value_text(abs(value), 'usd')}"
        case "more_seconds":
            return f"{value / 60:+,.1f}"
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
