"""Prints the grid of a batch before it starts: its arms, its units and their largest cost."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import typer

if TYPE_CHECKING:
    from agent.batch.grid.outlook import Outlook
    from agent.batch.grid.resolve import Grid


def print_grid(grid: Grid, outlook: Outlook) -> None:
    """Print a grid as a table of its arms, with a line before and lines after it."""
    from agent.cli.tables import print_table, rows_table

    typer.echo(_first_line(grid))
    rows = [
        {
            "arm": arm.arm,
            "configurations": arm.configurations,
            "units": arm.units,
            "largest cost": dollars(arm.largest_cost_usd),
            "bound of a unit": arm.reason,
        }
        for arm in outlook.arms
    ]
    columns = ("arm", "configurations", "units", "largest cost", "bound of a unit")
    print_table(rows_table(columns, rows, text=("arm", "bound of a unit"), first_out=("bound of a unit",)))
    for line in _last_lines(grid, outlook):
        typer.echo(line)


def grid_json(grid: Grid, outlook: Outlook) -> dict[str, Any]:
    """Return a grid as the object of `--json`."""
    return {
        "dry_run": True,
        "batch": grid.spec.name,
        "folder": str(grid.folder.path),
        "env": grid.spec.env,
        "attempts": grid.spec.attempts,
        "units": outlook.units,
        "planned": outlook.planned,
        "finished": outlook.finished,
        "largest_cost_usd": outlook.largest_cost_usd,
        "reason": outlook.reason,
        "arms": [asdict(arm) for arm in outlook.arms],
        "configurations": [
            {
                "id": line.configuration.id,
                "task": line.configuration.first.task.id,
                "model": line.configuration.first.model.asked,
                "arm": line.configuration.arm,
                "trial": line.configuration.trial(1),
                "largest_cost_usd": line.bound.usd,
            }
            for line in grid.lines
        ],
    }


def dollars(amount: float | None) -> str:
    """Return an amount in dollars as a person reads it."""
    return "unknown" if amount is None else f"${amount:,.2f}" if amount else "$0"


def _first_line(grid: Grid) -> str:
    from trajectories.record.texts.text import quantity

    origins = len({str(line.combination.origin) for line in grid.lines})
    noun = "task" if grid.spec.branches is None else "branch point"
    models = len({line.combination.model.place for line in grid.lines})
    arms, attempts = len({line.configuration.arm for line in grid.lines}), grid.spec.attempts
    environments = {line.configuration.first.environment for line in grid.lines}
    parts = (quantity(origins, noun), quantity(models, "model"), quantity(arms, "arm"), quantity(attempts, "attempt"))
    excluded = origins * models * arms - len(grid.lines)
    left_out = f", {quantity(excluded, 'combination')} excluded" if excluded > 0 else ""
    return f"batch {grid.spec.name}: {' x '.join(parts)}{left_out}, in {', '.join(sorted(environments))}"


def _last_lines(grid: Grid, outlook: Outlook) -> Iterator[str]:
    if outlook.planned:
        new = outlook.units - outlook.planned
        yield (
            f"{grid.folder.path}: {outlook.planned} of the {outlook.units} units were planned before, "
            f"{outlook.finished} of them are finished; {new} are new"
        )
    else:
        yield f"{grid.folder.path}: {outlook.units} units, none planned before"
    if outlook.largest_cost_usd:
        yield f"largest possible cost: {dollars(outlook.largest_cost_usd)}: {outlook.reason}"
    elif outlook.largest_cost_usd is None:
        yield f"largest possible cost: unknown: {outlook.reason}"
    else:
        yield "largest possible cost: $0: its models cost nothing"
