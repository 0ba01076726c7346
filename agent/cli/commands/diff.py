"""`agent diff`: two recorded workspaces compared."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from trajectories.workspace.diff import WorkspaceDiff


def diff(
    a: Annotated[str, typer.Argument(metavar="TRIAL", help="A trial's directory, or the beginning of its id.")],
    b: Annotated[str | None, typer.Argument(metavar="TRIAL", help="Another one.", show_default=False)] = None,
    step: Annotated[
        int | None,
        typer.Option(
            min=0, help="Of the first: after this step [of one trial 0, of two the last].", show_default=False
        ),
    ] = None,
    to: Annotated[
        int | None, typer.Option(min=0, help="Of the second: after this step [the last].", show_default=False)
    ] = None,
    content: Annotated[bool, typer.Option("--content", help="Show the lines of text files, too.")] = False,
    runs: Annotated[Path | None, typer.Option(help="Where trials are kept [runs].", show_default=False)] = None,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Compare the workspaces of two steps of a trial, or of two trials."""
    from agent.cli.output import emit_json
    from agent.config import runs_dir
    from trajectories.reading.runs import find_trial
    from trajectories.workspace.diff import Workspace, diff as compare

    first = find_trial(a, runs_dir(runs))
    second = first if b is None else find_trial(b, runs_dir(runs))
    if b is None and step is None:
        step = 0
    found = compare(Workspace(first, step), Workspace(second, to), content=content)
    if json:
        emit_json(found)
    else:
        _print(found)


def _print(found: WorkspaceDiff) -> None:
    from trajectories.record.text import printable

    marks = {"added": "A", "removed": "D", "changed": "M"}
    for one in found.differences:
        sizes = [f"{size} bytes" if size is not None else "-" for size in (one.size_before, one.size_after)]
        what = f" ({', '.join(one.aspects)})" if one.aspects else ""
        if one.type == "file":
            what += f" {sizes[0]} -> {sizes[1]}" if one.change == "changed" else f" {sizes[one.change == 'added']}"
        else:
            what += f" {one.type}"
        typer.echo(f"{marks[one.change]} {printable(one.path)}{what}{f' [{one.no_lines}]' if one.no_lines else ''}")
        if one.lines:
            typer.echo(printable(one.lines), nl=False)
    typer.echo(f"{found.added} added, {found.removed} removed, {found.changed} changed", err=True)
