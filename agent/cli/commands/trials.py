"""`agent trials`: list the recorded trials."""

from __future__ import annotations

import typer

from agent.cli.options import JsonOption, RunsOption


def trials(runs: RunsOption = None, json: JsonOption = False) -> None:
    """List the recorded trials, newest first."""
    from agent.cli.output import emit_json_list, stdout
    from agent.config import runs_dir
    from trajectories.reading.runs import listed, trial_directories

    runs = runs_dir(runs, must_exist=runs is not None)
    rows = map(listed, trial_directories(runs))  # one at a time: all summaries of a large study need much memory
    if json:
        emit_json_list(
            "trials",
            (
                row.summary.model_dump(mode="json")
                if row.summary
                else {"trial": str(row.directory), "problem": row.problem}
                for row in rows
            ),
        )
        return
    from trajectories.record.text import printable
    from trajectories.views.listing import Listing

    listing = Listing(rows)
    if not listing.rows:
        typer.echo(f"no trials under {runs}", err=True)
        return
    console = stdout()
    for table in listing.tables(console.width):
        console.print(table)
    for directory, problem in listing.problems:
        typer.echo(printable(f"unreadable: {directory}: {problem}"), err=True)
