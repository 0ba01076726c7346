"""Many trials in one table."""

from __future__ import annotations

from collections.abc import Iterable

from rich.table import Table
from rich.text import Text

from trajectories.catalog import Listed
from trajectories.text import printable


def listing_table(rows: Iterable[Listed]) -> Table:
    """One row a trial, in the order given."""
    table = Table(box=None, pad_edge=False)
    for name in ("trial", "task", "model", "exit", "steps", "cost", "time", "quality", "started"):
        numbers = name in ("steps", "cost", "time", "quality")
        table.add_column(name, justify="right" if numbers else "left", overflow="fold", no_wrap=numbers)
    for row in rows:
        table.add_row(*(Text(printable(cell)) for cell in _cells(row)))
    return table


def _cells(row: Listed) -> tuple[str, ...]:
    summary = row.summary
    if summary is None:
        return (row.directory.name, "", "", f"unreadable: {row.problem}", "", "", "", "", "")
    cost = summary.cost_usd.best
    verdict = summary.verdict
    quality = "" if verdict is None else verdict.status if verdict.quality is None else f"{verdict.quality:.3f}"
    fork = "" if summary.parent is None else f" (fork of {summary.parent.trial} at {summary.parent.step})"
    return (
        row.directory.name + fork,
        summary.task,
        summary.model,
        summary.exit.cause if summary.exit else "not closed",
        str(summary.steps),
        "unknown" if cost is None else f"${cost:.2f}",
        "unknown" if summary.wall_s is None else f"{summary.wall_s:.0f} s",
        quality,
        summary.started[:16].replace("T", " "),
    )
