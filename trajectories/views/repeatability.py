"""Terminal table of the commands that may not reproduce."""

from __future__ import annotations

from rich.table import Table
from rich.text import Text

from trajectories.comparison.repeatability import RepeatabilityReport
from trajectories.record.text import printable


def findings_table(report: RepeatabilityReport) -> Table:
    """Return a table with one row for each command and cause, and the line of command or output that shows it."""
    table = Table(box=None, pad_edge=False)
    for name in ("action", "cause", "shown by"):
        table.add_column(name, overflow="fold")
    for finding in report.findings:
        cause = finding.cause if finding.predicted else f"{finding.cause} (possible)"
        table.add_row(*(Text(printable(cell)) for cell in (finding.action, cause, finding.text)))
    return table
