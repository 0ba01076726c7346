"""Terminal view of a verdict."""

from __future__ import annotations

from rich.console import Console
from rich.table import Table
from rich.text import Text

from trajectories.record.text import cut_middle, printable
from trajectories.record.verdict import Verdict

_NOTE = 600
"""Number of characters of a note that are shown."""


def print_verdict(console: Console, verdict: Verdict) -> None:
    """Print the verdict in a line, a table of its groups, and its notes."""
    if verdict.status == "error":
        console.print(Text(f"no verdict: the evaluator failed: {printable(verdict.error)}", "red"))
        _print_notes(console, verdict)
        return
    word = "passed" if verdict.passed else "not passed"
    console.print(Text(f"verdict: {word}, quality {verdict.quality:.3f}", "bold"))
    table = Table(box=None, pad_edge=False)
    table.add_column("group")
    table.add_column("passed", justify="right")
    table.add_column("total", justify="right")
    for name, group in verdict.groups.items():
        table.add_row(Text(printable(name)), str(group.passed), str(group.total))
    console.print(table)
    _print_notes(console, verdict)


def _print_notes(console: Console, verdict: Verdict) -> None:
    for note in verdict.notes:
        console.print(Text(printable(f"note: {' '.join(cut_middle(note, _NOTE).split())}"), "yellow"), soft_wrap=True)
