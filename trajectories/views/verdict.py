"""Terminal view of a verdict."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console
from rich.table import Table
from rich.text import Text

from trajectories.record.text import cut_middle, printable, quantity
from trajectories.record.verdict import SystemChange, Verdict

_NOTE = 600
"""Number of characters of a note that are shown."""
_PATHS = 5
"""Number of changed paths that are shown."""


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
    if verdict.tampered:
        text = f"tampered: the submission changed what the tests execute or import: {_listed(verdict.tampered)}"
        console.print(Text(text, "bold red"), soft_wrap=True)
    if verdict.changed:
        text = f"note: the submission changed the system that the tests run in: {_listed(verdict.changed)}"
        console.print(Text(text, "yellow"), soft_wrap=True)
    for note in verdict.notes:
        console.print(Text(printable(f"note: {' '.join(cut_middle(note, _NOTE).split())}"), "yellow"), soft_wrap=True)


def _listed(changes: Sequence[SystemChange]) -> str:
    shown = [
        printable(f"{change.path} ({change.reached_by.replace('_', ' ') or change.kind})")
        for change in changes[:_PATHS]
    ]
    more = len(changes) - _PATHS
    return ", ".join([*shown, *([f"and {quantity(more, 'more path')}"] if more > 0 else [])])
