"""Table of the commands that may not reproduce."""

from __future__ import annotations

from trajectories.comparison.repeatability import RepeatabilityReport
from trajectories.views.tables import ALWAYS, TextColumn, TextTable

_COLUMNS = (
    TextColumn("action", rank=ALWAYS),
    TextColumn("cause", rank=ALWAYS),
    TextColumn("shown by", is_excerpt=True),
)


def findings_table(report: RepeatabilityReport) -> TextTable:
    """Return a table with one row for each command and cause, and the line of command or output that shows it."""
    rows = [
        (finding.action, finding.cause if finding.predicted else f"{finding.cause} (possible)", finding.text)
        for finding in report.findings
    ]
    return TextTable(_COLUMNS, rows)
