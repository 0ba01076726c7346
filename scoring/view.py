"""A report in the terminal: its tables, then what a reader must know beside them."""

from __future__ import annotations

from rich.console import Console
from rich.measure import Measurement
from rich.table import Table as Grid
from rich.text import Text

from scoring.cells import Table, text
from scoring.intervals import Estimate
from scoring.report import Report
from scoring.tables import tables
from trajectories.text import counted, printable

_FEW = 4
"""Of more configurations effort is not printed: eight lines each."""
_WORD = 16
"""Characters that a column of words keeps at least."""
_WIDE = 1000


def print_report(console: Console, report: Report) -> None:
    """All tables that have something to say, then the notes."""
    count = report.counts
    console.print(
        Text(
            printable(
                f"{report.benchmark}: {counted(count.counted, 'trial')} of {count.given} count, "
                f"{counted(count.configurations, 'configuration')}, {counted(count.tasks, 'task')}; "
                f"{count.infrastructure} infrastructure, {count.unfinished} unfinished, {count.unjudged} unjudged"
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
    prices = ", ".join(report.pricing.tables)
    notes = [
        f"intervals: {report.level:.0%}, rates by Wilson, the rest by a bootstrap over tasks ({report.replicates:,} "
        f"replicates, seed {report.seed}); n: trials",
        f"costs: {report.cost or 'as given'}{f', priced with {prices}' if prices else ''}; infrastructure failures: "
        f"{'left out' if report.infrastructure == 'exclude' else 'counted as failed'}",
        *report.notes,
        *(f"table {name} is only in files: --output FILE --table {name}" for name in left_out),
    ]
    for note in notes:
        console.print(Text(printable(f"- {note}")), soft_wrap=True)


def _print(console: Console, table: Table) -> None:
    """On a narrow terminal an interval is below its value; numbers are never cut, whatever the width."""
    grid = _grid(table, narrow=False)
    if Measurement.get(console, console.options, grid).minimum > console.width:
        grid = _grid(table, narrow=True)
    width = max(console.width, Measurement.get(console, console.options.update(max_width=_WIDE), grid).minimum)
    console.print(grid, width=width, crop=False)


def _grid(table: Table, *, narrow: bool) -> Grid:
    grid = Grid(box=None, pad_edge=False, title=table.title, title_justify="left", title_style="bold")
    shown = [at for at, column in enumerate(table.columns) if _says(table, at) or column.kind == "count"]
    for at in shown:
        column = table.columns[at]
        words = column.kind == "text"
        longest = max(len(text(row[at], column.kind)) for row in table.rows)
        grid.add_column(
            column.title,
            justify="left" if words else "right",
            overflow="fold",
            no_wrap=not words,
            min_width=min(longest, _WORD) if words else None,
        )
    for row in table.rows:
        cells = [printable(text(row[at], table.columns[at].kind)) for at in shown]
        grid.add_row(*(Text(cell.replace(" [", "\n[") if narrow else cell) for cell in cells))
    return grid


def _says(table: Table, at: int) -> bool:
    """Whether a column has a value in any row."""
    cells = [row[at] for row in table.rows]
    return any(cell.value is not None if isinstance(cell, Estimate) else cell not in (None, "") for cell in cells)
