"""`agent trials`: list the recorded trials."""

from __future__ import annotations

import typer

from agent.cli.options import JsonOption, RunsOption


def trials(runs: RunsOption = None, json: JsonOption = False) -> None:
    """List the recorded trials, newest first."""
    from agent.cli.output import emit_json, stdout
    from agent.config import runs_dir
    from trajectories.reading.runs import listed, trial_directories

    runs = runs_dir(runs, must_exist=runs is not None)
    rows = [listed(directory) for directory in trial_directories(runs)]
    if json:
        emit_json(
            {
                "trials": [
                    row.summary.model_dump(mode="json")
                    if row.summary
                    else {"trial": str(row.directory), "problem": row.problem}
                    for row in rows
                ]
            }
        )
        return
    from trajectories.record.text import printable
    from trajectories.views.listing import listing_table

    if not rows:
        typer.echo(f"no trials under {runs}", err=True)
        return
    console = stdout()
    console.print(listing_table(rows, console.width))
    for row in rows:
        if row.problem:
            typer.echo(printable(f"unreadable: {row.directory}: {row.problem}"), err=True)
