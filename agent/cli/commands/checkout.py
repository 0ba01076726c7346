"""`agent checkout`: a recorded workspace in a directory."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def checkout(
    trial: Annotated[str, typer.Argument(metavar="TRIAL", help="A trial's directory, or the beginning of its id.")],
    directory: Annotated[Path, typer.Argument(metavar="DIR", help="A new or an empty directory.")],
    step: Annotated[int | None, typer.Option(min=0, help="After this step [the last].", show_default=False)] = None,
    allow_missing: Annotated[
        bool, typer.Option("--allow-missing", help="Exit with 0 also if some content is not there.")
    ] = False,
    runs: Annotated[Path | None, typer.Option(help="Where trials are kept [runs].", show_default=False)] = None,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Write the workspace as it was after a step into a directory."""
    from agent.cli.output import emit_json
    from agent.config import runs_dir
    from trajectories.reading.runs import find_trial
    from trajectories.record.text import counted, printable
    from trajectories.workspace.checkout import check_out
    from trajectories.workspace.states import state_at

    done = check_out(state_at(find_trial(trial, runs_dir(runs)), step), directory)
    for kind, paths in (("missing", done.missing), ("unknown", done.unread)):
        for path in paths:
            typer.echo(f"{kind}: {printable(path.path)}: {printable(path.why)}", err=True)
    if json:
        emit_json(done)
    else:
        nouns = {"file": done.files, "directory": done.directories, "link": done.links, "byte": done.bytes}
        counts = ", ".join(counted(count, noun) for noun, count in nouns.items())
        typer.echo(printable(f"{done.directory}: the workspace after step {done.step}: {counts}"))
    if (done.missing or done.unread) and not allow_missing:
        raise typer.Exit(1)
