"""`agent import`: make trials of other programs' recorded runs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from agent.cli.options import JsonOption, RunsOption


def import_(
    files: Annotated[
        list[Path],
        typer.Argument(metavar="FILE", help="Trajectory files of mini-swe-agent or in ATIF, of any version."),
    ],
    runs: RunsOption = None,
    batch: Annotated[
        str, typer.Option(metavar="NAME", help="Folder below --runs into which the trials are written.")
    ] = "imported",
    json: JsonOption = False,
) -> None:
    """Make trials of files that another program recorded.

    A file that cannot be read does not stop the others.
    """
    from agent.cli.output import emit_json
    from agent.config import runs_dir
    from trajectories.errors import RecordError, RecordFull
    from trajectories.formats.trial import import_file
    from trajectories.reading.runs import batch_folder
    from trajectories.record.texts.text import printable, quantity

    folder = batch_folder(runs_dir(runs), batch)
    trials, failed, status = [], [], 0
    for file in files:
        try:
            imported = import_file(file, folder)
        except RecordFull:
            raise
        except RecordError as error:
            failed.append({"file": str(file), "problem": str(error)})
            typer.echo(f"agent: {printable(' '.join(str(error).split()))}", err=True)
            status = 2
            continue
        trials.append({"file": str(file), "already": imported.already, **imported.summary.model_dump(mode="json")})
        if not json:
            state = "exists already" if imported.already else quantity(imported.summary.steps, "step")
            typer.echo(printable(f"{imported.directory}   {state}"))
        for oddity in imported.oddities:
            typer.echo(printable(f"note: {file}: {oddity}"), err=True)
    if json:
        emit_json({"trials": trials, "failed": failed})
    raise typer.Exit(status)
