"""`agent batch`: run the grid of a spec, tasks x models x arms x attempts, under one budget."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from agent.cli.batches.status import status
from agent.cli.group import with_verbs
from agent.cli.options import LIMITS, OUTPUT, TASK, JsonOption, QuietOption, RunsOption


def batch(
    spec: Annotated[
        Path, typer.Argument(metavar="SPEC", help="Spec of the batch: a YAML file (docs/reference/batch-spec.md).")
    ],
    workers: Annotated[
        int | None,
        typer.Option(min=1, metavar="N", help="Largest number of trials at once [the spec's].", rich_help_panel=LIMITS),
    ] = None,
    per_process: Annotated[
        int | None,
        typer.Option(
            min=1,
            metavar="N",
            help="Largest number of trials in one worker process [one process for each core].",
            rich_help_panel=LIMITS,
        ),
    ] = None,
    engine: Annotated[
        Literal["local", "ray"],
        typer.Option(
            help="Place of the workers: this machine, or the nodes of a Ray cluster (docs/howto/cluster.md).",
            rich_help_panel=LIMITS,
        ),
    ] = "local",
    address: Annotated[
        str | None,
        typer.Option(
            metavar="HOST:PORT",
            help="Address of the Ray cluster [RAY_ADDRESS, or the cluster on this machine].",
            rich_help_panel=LIMITS,
        ),
    ] = None,
    no_evaluate: Annotated[
        bool,
        typer.Option("--no-evaluate", help="Postpone the evaluations, for agent evaluate BATCH.", rich_help_panel=TASK),
    ] = False,
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
    quiet: QuietOption = False,
) -> None:
    """Run a grid of tasks, models and arms, under one budget.

    All mistakes of the spec are listed before anything starts, each with its line. The same command again continues a
    batch: finished trials are skipped. The first Ctrl-C lets running trials finish, the second one stops them.
    """
    from agent.config import runs_dir
    from agent.errors import UserError

    if address is not None and engine != "ray":
        raise UserError("--address is about a Ray cluster; add --engine ray")
    if dry_run:
        show_grid(spec, runs_dir(runs), checks_machine=engine == "local", evaluate=not no_evaluate, as_json=json)
        return
    from agent.cli.batches.run import run_spec

    run_spec(
        spec,
        runs_dir(runs),
        engine=engine,
        address=address,
        workers=workers,
        per_process=per_process,
        evaluate=not no_evaluate,
        as_json=json,
        quiet=quiet,
    )


def show_grid(spec: Path, runs: Path, *, checks_machine: bool, evaluate: bool, as_json: bool) -> None:
    """Print the grid of a spec. What this machine lacks to run it is reported after the grid.

    Raises: UserError, MachineError.
    """
    from agent.batch.grid.outlook import outlook_of
    from agent.batch.grid.resolve import check_postponable, resolve_spec
    from agent.cli.batches.grid import grid_json, print_grid
    from agent.cli.output import emit_json
    from agent.errors import MachineError, UserError
    from trajectories.batches.journal import read_batch_events

    problem = None
    try:
        grid = resolve_spec(spec, runs, checks_machine=checks_machine)
    except (UserError, MachineError) as error:
        problem = error
        grid = resolve_spec(spec, runs, checks_machine=False)
    if not evaluate:
        check_postponable(grid)
    events = list(read_batch_events(grid.folder.path)) if grid.folder.is_batch() else []
    outlook = outlook_of(grid, events)
    if as_json:
        emit_json(grid_json(grid, outlook))
    else:
        print_grid(grid, outlook)
    if problem is not None:
        raise problem


app = with_verbs("batch", batch, {"status": status})
