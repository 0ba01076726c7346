"""Terminal table of many trials."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from sys import intern
from typing import TYPE_CHECKING

from trajectories.reading.runs import Listed
from trajectories.record.interventions import BASE
from trajectories.views.tables import ALWAYS, TextColumn, TextTable

if TYPE_CHECKING:
    from rich.console import Console

_COLUMNS = (
    TextColumn("trial", rank=ALWAYS),
    TextColumn("task", rank=7),
    TextColumn("model", rank=5),
    TextColumn("label", rank=8),
    TextColumn("exit", rank=1),
    TextColumn("steps", right=True, rank=3),
    TextColumn("cost", right=True, rank=4),
    TextColumn("time", right=True, rank=9),
    TextColumn("quality", right=True, rank=2),
    TextColumn("started", rank=6),
    TextColumn("fork of", rank=10),
    TextColumn("mode", rank=11),
    TextColumn("turn", right=True, rank=12),
    TextColumn("replaces", rank=13),
)


class Listing:
    """The cells of many trials, in the order of `rows`, and the trials that cannot be read, with their problems."""

    def __init__(self, rows: Iterable[Listed]) -> None:
        self.rows: list[tuple[str, ...]] = []
        self.problems: list[tuple[Path, str]] = []
        for row in rows:
            self.rows.append(tuple(map(intern, _cells(row))))  # most values repeat from row to row
            if row.problem:
                self.problems.append((row.directory, row.problem))

    def print(self, console: Console) -> None:
        """Print the table, line by line."""
        TextTable(_COLUMNS, self.rows).print(console)


def _cells(row: Listed) -> Iterator[str]:
    """Return the cells of a row in the order of the columns."""
    cells = dict.fromkeys((column.title for column in _COLUMNS), "") | {"trial": row.directory.name}
    summary = row.summary
    if summary is None:
        cells["exit"] = "unreadable"
    else:
        cost = summary.cost_usd.best
        verdict = summary.verdict
        cells |= {
            "task": summary.task,
            "model": summary.model,
            "label": summary.label or "",
            "exit": summary.exit.cause if summary.exit else "not closed",
            "steps": str(summary.steps),
            "cost": "unknown" if cost is None else f"${cost:.2f}",
            "time": "unknown" if summary.wall_s is None else f"{summary.wall_s:.0f} s",
            "started": summary.started[:16].replace("T", " "),
        }
        if verdict is not None:
            cells["quality"] = verdict.status if verdict.quality is None else f"{verdict.quality:.3f}"
        if summary.parent is not None:
            cells["fork of"] = f"{summary.parent.trial} at {summary.parent.step}"
        entry = summary.entry
        if entry.mode != BASE:
            cells["mode"] = entry.mode
        if entry.turn is not None:
            cells["turn"] = str(entry.turn) if entry.chain is None else f"{entry.turn} of {entry.chain.turns}"
        cells["replaces"] = summary.replaces or ""
    return iter(cells.values())
