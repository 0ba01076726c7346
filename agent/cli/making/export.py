"""`agent tasks export`: a task of our own in the format of another harness."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from agent.cli import completion
from agent.cli.options import JsonOption


def export_task(
    reference: Annotated[
        str,
        typer.Argument(
            metavar="TASK",
            help="Task directory in our own format, or the name of a demo.",
            autocompletion=completion.tasks,
            show_default=False,
        ),
    ],
    output: Annotated[
        Path,
        typer.Option("--output", "-o", metavar="DIR", help="Directory to write, new or empty.", show_default=False),
    ],
    task_format: Annotated[Literal["harbor"], typer.Option("--format", help="Format of the files.")] = "harbor",
    json: JsonOption = False,
) -> None:
    """Write a task of our own in Harbor's format.

    Its verifier runs the hidden suite as Retrace does. A setting that Harbor cannot express is refused by name.
    """
    from agent.cli.output import emit_json
    from agent.making.export.harbor import export
    from benchmarks.task.registry import resolve_task

    left_out = export(resolve_task(reference)[1], output)
    if json:
        emit_json({"directory": str(output), "format": task_format, "left_out": list(left_out)})
        return
    typer.echo(output)
    if left_out:
        typer.echo(f"note: left out, because Harbor has no such setting: {', '.join(left_out)}", err=True)
