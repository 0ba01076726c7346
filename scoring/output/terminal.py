"""A report in the terminal: its tables, then the notes that a reader needs beside them."""

from __future__ import annotations

from collections.abc import Sequence

from rich.cells import cell_len
from rich.console import Console
from rich.table import Table
from rich.text import Text

from scoring.notes import basis
from scoring.output.cells import Cell, Column, ReportTable, text
from scoring.output.tables import tables
from scoring.report import Report
from scoring.statistics.intervals import Estimate
from trajectories.record.text import printable, quantity

_FEW = 4
"""The table of effort is not printed for more configurations than these: it has eight lines for each."""
_MANY_PANELS = 20
"""The table of panels is not printed if it has more lines than these."""
_NARROWEST_TEXT = 16
"""Minimum width of a text column, in characters."""
_GAP = 2
"""Space between columns, in characters."""


def print_report(console: Console, report: Report) -> None:
    """Print all tables that have a row, then the notes."""
    counts = report.counts
    console.print(
        Text(
            printable(
                f"{report.benchmark}: {quantity(counts.counted, 'trial')} of {counts.given} count, "
                f"{quantity(counts.configurations, 'configuration')}, {quantity(counts.tasks, 'task')}; "
                f"{counts.infrastructure} infrastructure, {counts.unfinished} unfinished, {counts.unjudged} unjudged, "
                f"{len(report.unreadable)} unreadable"
            )
        ),
        soft_wrap=True,
    )
    left_out = []
    for table in tables(report):
        if table.name == "effort" and counts.configurations > _FEW:
            left_out.append(table.name)
            continue
        if table.name == "panels" and len(table.rows) > _MANY_PANELS:
            left_out.append(table.name)
            continue
        if table.name == "passes" and all(row.passes.k == 1 for row in report.passes):
            continue  # pass@1 is the pass rate
        console.print()
        _print(console, table)
    console.print()
    notes = [
        *basis(report),
        *(note.text for note in report.notes),
        *(f"table {name} is only in files: --output FILE --table {name}" for name in left_out),
    ]
    for note in notes:
        console.print(Text(printable(f"- {note}")), soft_wrap=True)


def _print(console: Console, table: ReportTable) -> None:
    """Print a table. On a narrow terminal intervals move below their values and text is folded; numbers are never
    cut."""
    columns = [column for column in table.columns if _has_value(table, column)]
    cells = [[printable(text(row[column.key], column.kind)) for column in columns] for row in table.rows]
    widths = _widths(columns, cells)
    if _total(widths) > console.width:
        cells = [[cell.replace(" [", "\n[") for cell in row] for row in cells]
        widths = _widths(columns, cells)
    text_columns = [number for number, column in enumerate(columns) if column.kind == "text"]
    for number in sorted(text_columns, key=lambda number: -widths[number]):
        excess = max(0, _total(widths) - console.width)
        widths[number] -= min(excess, max(0, widths[number] - _NARROWEST_TEXT))
    grid = Table(box=None, pad_edge=False, title=table.title, title_justify="left", title_style="bold")
    for column, width in zip(columns, widths, strict=True):
        grid.add_column(
            column.title, justify="left" if column.kind == "text" else "right", overflow="fold", width=width
        )
    for row in cells:
        grid.add_row(*map(Text, row))
    terminal_width = console.width
    console.width = max(terminal_width, _total(widths))  # rich would fold numbers to keep within it
    console.print(grid)
    console.width = terminal_width


def _widths(columns: Sequence[Column], cells: Sequence[Sequence[str]]) -> list[int]:
    headed = [[column.title for column in columns], *cells]
    return [
        max(cell_len(line) for words in column for line in words.split("\n")) for column in zip(*headed, strict=True)
    ]


def _total(widths: Sequence[int]) -> int:
    return sum(widths) + _GAP * (len(widths) - 1)


def _has_value(table: ReportTable, column: Column) -> bool:
    """Return True if any row has a value in this column."""
    return any(_is_known(row[column.key]) for row in table.rows)


def _is_known(cell: Cell) -> bool:
    return cell.value is not None if isinstance(cell, Estimate) else cell not in (None, "")
