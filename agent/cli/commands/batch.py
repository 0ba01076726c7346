"""`agent batch`: run the grid of a spec, tasks x models x arms x attempts, under one budget."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from agent.cli.options import OUTPUT, JsonOption, RunsOption


def batch(
    spec: Annotated[
        Path, typer.Argument(metavar="SPEC", help="Spec of the batch: a YAML file (docs/reference/batch-spec.md).")
    ],
    dry_run: Annotated[
        bool,
        typer.Option(
            "--dry-run",
            help="Resolve and check everything, print the grid and its largest cost, start nothing.",
            rich_help_panel=OUTPUT,
        ),
    ] = False,
    runs: RunsOption = None,
    json: JsonOption = False,
) -> None:
    """Run a grid of tasks, models and arms, under one budget.

    All mistakes of the spec are listed before anything starts, each with its line.
    """
    from agent.config import runs_dir
    from agent.errors import UserError

    if not dry_run:
        raise UserError("running a batch is not possible yet; --dry-run shows its grid and its largest cost")
    show_grid(spec, runs_dir(runs), as_json=json)


def show_grid(spec: Path, runs: Path, *, as_json: bool) -> None:
    """Print the grid of a spec. A machine that could not run it now is reported after the grid.

    Raises: UserError.
    """
    from agent.batch.grid.outlook import outlook_of
    from agent.batch.grid.resolve import resolve_spec
    from agent.cli.batches.grid import grid_json, print_grid
    from agent.cli.output import emit_json
    from agent.errors import UserError
    from trajectories.batches.journal import read_batch_events

    problem = None
    try:
        grid = resolve_spec(spec, runs)
    except UserError as error:
        problem = error
        grid = resolve_spec(spec, runs, checks_machine=False)
    events = list(read_batch_events(grid.folder.path)) if grid.folder.is_batch() else []
    outlook = outlook_of(grid, events)
    if as_json:
        emit_json(grid_json(grid, outlook))
    else:
        print_grid(grid, outlook)
    if problem is not None:
        raise problem
