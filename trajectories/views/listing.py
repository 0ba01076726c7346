"""Terminal table of many trials."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from sys import intern

from rich.cells import cell_len
from rich.table import Table
from rich.text import Text

from trajectories.reading.runs import Listed
from trajectories.record.text import printable

_NAMES = ("trial", "task", "model", "exit", "steps", "cost", "time", "quality", "started", "fork of")
_NUMBERS = ("steps", "cost", "time", "quality")
_CUT = ("task", "model", "fork of")
"""Columns that may be cut. An id stays whole, so that it can be copied."""
_LEAST = 16
"""Least width to which a column is cut."""
_PART = 200
"""Rows that are printed at a time."""
_LEFT_OUT = ("fork of", "time", "task", "started", "model", "cost")
"""Columns that are left out if the terminal is too narrow, in this order."""


class Listing:
    """The cells of many trials, in the order of `rows`, and the trials that cannot be read, with their problems."""

    def __init__(self, rows: Iterable[Listed]) -> None:
        self.rows: list[tuple[str, ...]] = []
        self.problems: list[tuple[Path, str]] = []
        for row in rows:
            self.rows.append(tuple(map(intern, _cells(row))))  # most values repeat from row to row
            if row.problem:
                self.problems.append((row.directory, row.problem))

    def tables(self, width: int) -> Iterator[Table]:
        """Yield the parts of one table with the columns that fit into `width`.

        Printed as a whole, 10,000 rows take 150 MB.
        """
        widths = {
            name: max(map(cell_len, (name, *column)))
            for name, column in zip(_NAMES, zip(*self.rows, strict=True), strict=True)
            if name != "fork of" or any(column)
        }
        _fit(widths, width)
        shown = [_NAMES.index(name) for name in widths]
        for start in range(0, len(self.rows), _PART):
            table = Table(box=None, pad_edge=False, show_header=start == 0)
            for name, wide in widths.items():
                table.add_column(
                    name,
                    justify="right" if name in _NUMBERS else "left",
                    overflow="ellipsis" if name in _CUT else "fold",
                    no_wrap=name != "trial",
                    width=wide,
                )
            for row in self.rows[start : start + _PART]:
                table.add_row(*(Text(row[index]) for index in shown))
            yield table


def _fit(widths: dict[str, int], width: int) -> None:
    """Leave out columns and make others narrower until all fit."""
    least = {name: min(wide, _LEAST) if name in _CUT else wide for name, wide in widths.items()}
    for name in _LEFT_OUT:
        if _total(least) > width and name in widths:
            del least[name], widths[name]
    spare = width - _total(least)
    for name in _CUT:
        if name in widths:
            widths[name] = least[name] + min(widths[name] - least[name], max(0, spare))
            spare -= widths[name] - least[name]
    if spare < 0:
        widths["trial"] = max(_LEAST, widths["trial"] + spare)


def _total(widths: dict[str, int]) -> int:
    return sum(widths.values()) + 2 * (len(widths) - 1)


def _cells(row: Listed) -> Iterator[str]:
    """Return the cells of a row in the order of the columns."""
    cells = dict.fromkeys(_NAMES, "") | {"trial": row.directory.name}
    summary = row.summary
    if summary is None:
        cells["exit"] = "unreadable"
    else:
        cost = summary.cost_usd.best
        verdict = summary.verdict
        cells |= {
            "task": summary.task,
            "model": summary.model,
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
    return map(printable, cells.values())
