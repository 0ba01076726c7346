"""A report in the terminal: its tables, then the notes that a reader needs beside them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from rich.console import Console
from rich.text import Text

from scoring.notes import basis
from scoring.output.cells import ReportTable, estimate_texts, text
from scoring.output.tables import tables
from scoring.report import Report
from scoring.statistics.intervals import Estimate
from trajectories.record.texts.text import printable, quantity
from trajectories.views.tables import ALWAYS, TextColumn, TextTable

_FEW = 4
"""The table of effort is not printed for more configurations than these: it has eight lines for each."""
_MANY_PANELS = 20
"""The table of panels is not printed if it has more lines than these."""
_VALUE, _INTERVAL, _MINOR, _TRIALS = 1, 2, 3, 4
"""Ranks of columns; the highest is left out first."""


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
        text_table(table, report.level).print(console)
    console.print()
    notes = [
        *basis(report),
        *(note.text for note in report.notes),
        *(f"table {name} is only in files: --output FILE --table {name}" for name in left_out),
    ]
    for note in notes:
        console.print(Text(printable(f"- {note}")), soft_wrap=True)


def text_table(table: ReportTable, level: float) -> TextTable:
    """Return a table as text. An estimate takes three columns: its value, its interval and its number of trials.

    A narrow terminal leaves out the numbers of trials first, then minor columns, then the intervals.
    """
    titles = Counter(column.title for column in table.columns)
    columns: list[TextColumn] = []
    cells: list[Sequence[str]] = []
    for place, column in enumerate(table.columns):
        values = [row[column.key] for row in table.rows]
        rank = ALWAYS if place == 0 else _MINOR if column.is_minor else _VALUE
        name = column.title if titles[column.title] == 1 else column.key.replace("_", " ")
        columns.append(TextColumn(column.title, right=column.kind != "text", rank=rank, name=name))
        if not any(isinstance(value, Estimate) for value in values):
            cells.append([text(value, column.kind) for value in values])
            continue
        interval, trials = f"{name} {level:.0%}", f"{name} n"
        columns.append(TextColumn(f"{level:.0%}", right=True, rank=max(rank, _INTERVAL), name=interval))
        columns.append(TextColumn("n", right=True, rank=_TRIALS, name=trials))
        parts = [estimate_texts(value, column.kind) for value in values]
        cells += list(zip(*parts, strict=True))
    return TextTable(columns, list(zip(*cells, strict=True)), table.title)
