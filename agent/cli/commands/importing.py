"""`agent import`: other programs' recorded runs as trials."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def import_(
    files: Annotated[list[Path], typer.Argument(metavar="FILE", help="Trajectories of mini-swe-agent, any layout.")],
    runs: Annotated[Path | None, typer.Option(help="Where trials are kept [runs].", show_default=False)] = None,
    batch: Annotated[str, typer.Option(help="The folder under --runs.")] = "imported",
    json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Make a trial of each FILE; a file that cannot be read does not stop the others."""
    from agent.cli.output import emit_json
    from agent.config import runs_dir
    from trajectories.errors import RecordError, RecordFull
    from trajectories.formats.trial import import_file
    from trajectories.reading.runs import batch_folder
    from trajectories.record.text import counted, printable

    folder = batch_folder(runs_dir(runs), batch)
    trials, failed, status = [], [], 0
    for file in files:
        try:
            made = import_file(file, folder)
        except RecordFull:
            raise
        except RecordError as error:
            failed.append({"file": str(file), "problem": str(error)})
            typer.echo(f"agent: {printable(' '.join(str(error).split()))}", err=True)
            status = 2
            continue
        trials.append({"file": str(file), "already": made.already, **made.summary.model_dump(mode="json")})
        if not json:
            how = "was there already" if made.already else counted(made.summary.steps, "step")
            typer.echo(printable(f"{made.directory}   {how}"))
        for oddity in made.oddities:
            typer.echo(printable(f"note: {file}: {oddity}"), err=True)
    if json:
        emit_json({"trials": trials, "failed": failed})
    raise typer.Exit(status)
