"""What is likely not to repeat, in the terminal."""

from __future__ import annotations

from rich.table import Table
from rich.text import Text

from trajectories.comparison.repeatability import RepeatabilityReport
from trajectories.record.text import printable


def findings_table(report: RepeatabilityReport) -> Table:
    """One row a command and cause."""
    table = Table(box=None, pad_edge=False)
    for name in ("action", "cause", "command"):
        table.add_column(name, overflow="fold")
    for one in report.findings:
        table.add_row(*(Text(printable(cell)) for cell in (one.action, one.cause, one.text)))
    return table
