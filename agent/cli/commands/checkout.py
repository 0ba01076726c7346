"""`agent checkout`: write a recorded workspace into a directory."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from agent.cli.options import JsonOption, RunsOption, TrialArgument


def checkout(
    trial: TrialArgument,
    directory: Annotated[Path, typer.Argument(metavar="DIR", help="Directory to write into; it must be new or empty.")],
    step: Annotated[
        int | None,
        typer.Option(min=0, metavar="N", help="Step after which the workspace is taken [the last]."),
    ] = None,
    allow_missing: Annotated[
        bool, typer.Option("--allow-missing", help="Exit with 0 even if some contents are missing.")
    ] = False,
    runs: RunsOption = None,
    json: JsonOption = False,
) -> None:
    """Write the workspace as it was after a step into a directory."""
    from agent.cli.output import emit_json
    from agent.config import runs_dir
    from trajectories.reading.runs import find_trial
    from trajectories.record.texts.text import printable, quantity
    from trajectories.workspace.checkout import check_out
    from trajectories.workspace.states import state_at

    result = check_out(state_at(find_trial(trial, runs_dir(runs)), step), directory)
    for kind, paths in (("missing", result.missing), ("unknown", result.unread)):
        for path in paths:
            typer.echo(f"{kind}: {printable(path.path)}: {printable(path.why)}", err=True)
    if json:
        emit_json(result)
    else:
        nouns = {"file": result.files, "directory": result.directories, "link": result.links, "byte": result.bytes}
        counts = ", ".join(quantity(count, noun) for noun, count in nouns.items())
        typer.echo(printable(f"{result.directory}: the workspace after step {result.step}: {counts}"))
    if (result.missing or result.unread) and not allow_missing:
        raise typer.Exit(1)
