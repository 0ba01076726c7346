"""A report in the terminal: its tables, then what a reader must know beside them."""

from __future__ import annotations

from collections.abc import Sequence

from rich.cells import cell_len
from rich.console import Console
from rich.table import Table as Grid
from rich.text import Text

from scoring.notes import basis
from scoring.output.cells import Column, Table, text
from scoring.output.tables import tables
from scoring.report import Report
from scoring.statistics.intervals import Estimate
from trajectories.record.text import printable, quantity

_FEW = 4
"""Of more configurations effort is not printed: eight lines each."""
_WORD = 16
"""Characters that a column of words keeps at least."""
_BETWEEN = 2
"""Characters between columns."""


def print_report(console: Console, report: Report) -> None:
    """All tables that have something to say, then the notes."""
    count = report.counts
    console.print(
        Text(
            printable(
                f"{report.benchmark}: {quantity(count.counted, 'trial')} of {count.given} count, "
                f"{quantity(count.configurations, 'configuration')}, {quantity(count.tasks, 'task')}; "
                f"{count.infrastructure} infrastructure, {count.unfinished} unfinished, {count.unjudged} unjudged, "
                f"{len(report.unreadable)} unreadable"
            )
        ),
        soft_wrap=True,
    )
    left_out = []
    for table in tables(report):
        if table.name == "effort" and count.configurations > _FEW:
            left_out.append(table.name)
            continue
        if table.name == "passes" and all(row.passes.k == 1 for row in report.passes):
            continue  # pass@1 is the pass rate
        console.print()
        _print(console, table)
    console.print()
    notes = [
        *basis(report),
        *report.notes,
        *(f"table {name} is only in files: --output FILE --table {name}" for name in left_out),
    ]
    for note in notes:
        console.print(Text(printable(f"- {note}")), soft_wrap=True)


def _print(console: Console, table: Table) -> None:
    """On a narrow terminal an interval is below its value and words are folded; numbers are never cut."""
    shown = [at for at, column in enumerate(table.columns) if _says(table, at) or column.kind == "count"]
    columns = [table.columns[at] for at in shown]
    cells = [[printable(text(row[at], table.columns[at].kind)) for at in shown] for row in table.rows]
    widths = _widths(columns, cells)
    if _total(widths) > console.width:
        cells = [[cell.replace(" [", "\n[") for cell in row] for row in cells]
        widths = _widths(columns, cells)
    for place in sorted((at for at, column in enumerate(columns) if column.kind == "text"), key=lambda at: -widths[at]):
        too_much = max(0, _total(widths) - console.width)
        widths[place] -= min(too_much, max(0, widths[place] - _WORD))
    grid = Grid(box=None, pad_edge=False, title=table.title, title_justify="left", title_style="bold")
    for column, width in zip(columns, widths, strict=True):
        grid.add_column(
            column.title, justify="left" if column.kind == "text" else "right", overflow="fold", width=width
        )
    for row in cells:
        grid.add_row(*map(Text, row))
    known = console.width
    console.width = max(known, _total(widths))  # rich would fold numbers to keep within it
    console.print(grid)
    console.width = known


def _widths(columns: Sequence[Column], cells: Sequence[Sequence[str]]) -> list[int]:
    return [
        max(cell_len(line) for words in (column.title, *(row[at] for row in cells)) for line in words.split("\n"))
        for at, column in enumerate(columns)
    ]


def _total(widths: Sequence[int]) -> int:
    return sum(widths) + _BETWEEN * (len(widths) - 1)


def _says(table: Table, at: int) -> bool:
    """Whether a column has a value in any row."""
    cells = [row[at] for row in table.rows]
    return any(cell.value is not None if isinstance(cell, Estimate) else cell not in (None, "") for cell in cells)
