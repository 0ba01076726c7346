"""Tables that commands print, built from rows of values."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING

from agent.cli.output import readable

if TYPE_CHECKING:
    from rich.table import Table

Row = Mapping[str, object]


def rows_table(
    rows: Sequence[Row], *, text: Collection[str], unbroken: Collection[str] = (), missing: str = "none"
) -> Table:
    """Return a table with the keys of the first row as columns.

    Columns in `text` are aligned to the left, all others to the right; those in `unbroken` are never wrapped.
    `missing` stands for None.
    """
    from rich.table import Table

    table = Table(box=None, pad_edge=False)
    for column in rows[0] if rows else ():
        table.add_column(column, justify="left" if column in text else "right", no_wrap=column in unbroken)
    for row in rows:
        table.add_row(*(missing if value is None else readable(value) for value in row.values()))
    return table


def plain_table(columns: Sequence[str], rows: Sequence[Row]) -> str:
    """Return a table of plain text with these columns; for 200 rows rich takes 0.15 s more."""
    from trajectories.record.text import printable

    lines = [tuple(columns), *(tuple(printable(readable(row[column])) for column in columns) for row in rows)]
    widths = [max(map(len, cells)) for cells in zip(*lines, strict=True)]
    return "\n".join("  ".join(map(str.ljust, line, widths)).rstrip() for line in lines)
