"""`agent diff`: compare two recorded workspaces."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from agent.cli import completion
from agent.cli.options import JsonOption, RunsOption, TrialArgument

if TYPE_CHECKING:
    from trajectories.workspace.diff import WorkspaceDiff


def diff(
    a: TrialArgument,
    b: Annotated[
        str | None,
        typer.Argument(
            metavar="TRIAL",
            help="Second trial: a directory, or the beginning of an id.",
            autocompletion=completion.trials,
        ),
    ] = None,
    step: Annotated[
        int | None,
        typer.Option(
            min=0,
            metavar="N",
            help="Step of the first trial after which its workspace is taken [0 if only one trial is named, otherwise "
            "the last].",
        ),
    ] = None,
    to: Annotated[
        int | None,
        typer.Option(
            min=0, metavar="N", help="Step of the second trial after which its workspace is taken [the last]."
        ),
    ] = None,
    content: Annotated[bool, typer.Option("--content", help="Show the changed lines of text files, too.")] = False,
    runs: RunsOption = None,
    json: JsonOption = False,
) -> None:
    """Compare the workspaces of two steps, or of two trials."""
    from agent.cli.output import emit_json
    from agent.config import runs_dir
    from trajectories.reading.runs import find_trial
    from trajectories.workspace.diff import Workspace, diff as compare

    first = find_trial(a, runs_dir(runs))
    second = first if b is None else find_trial(b, runs_dir(runs))
    if b is None and step is None:
        step = 0
    comparison = compare(Workspace(first, step), Workspace(second, to), content=content)
    if json:
        emit_json(comparison)
    else:
        _print(comparison)


def _print(comparison: WorkspaceDiff) -> None:
    from trajectories.record.texts.text import printable

    marks = {"added": "A", "removed": "D", "changed": "M"}
    for path in comparison.differences:
        before, after = (f"{size} bytes" if size is not None else "-" for size in (path.size_before, path.size_after))
        detail = f" ({', '.join(path.aspects)})" if path.aspects else ""
        if path.type != "file":
            detail += f" {path.type}"
        elif path.change == "changed":
            detail += f" {before} -> {after}"
        else:
            detail += f" {after if path.change == 'added' else before}"
        reason = f" [{path.no_lines}]" if path.no_lines else ""
        typer.echo(f"{marks[path.change]} {printable(path.path)}{detail}{reason}")
        if path.lines:
            typer.echo(printable(path.lines), nl=False)
    typer.echo(f"{comparison.added} added, {comparison.removed} removed, {comparison.changed} changed", err=True)
