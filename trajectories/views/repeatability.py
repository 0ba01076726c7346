"""Terminal table of the commands that may not reproduce."""

from __future__ import annotations

from rich.table import Table
from rich.text import Text

from trajectories.comparison.repeatability import RepeatabilityReport
from trajectories.record.text import printable


def findings_table(report: RepeatabilityReport) -> Table:
    """Return a table with one row for each command and cause."""
    table = Table(box=None, pad_edge=False)
    for name in ("action", "cause", "command"):
        table.add_column(name, overflow="fold")
    for finding in report.findings:
        table.add_row(*(Text(printable(cell)) for cell in (finding.action, finding.cause, finding.text)))
    return table
