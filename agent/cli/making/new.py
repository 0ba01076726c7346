"""`agent tasks new`: a small working task to start from."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from agent.cli.options import JsonOption


def new_task(
    directory: Annotated[
        Path,
        typer.Argument(metavar="DIR", help="Directory of the task, new or empty.", show_default=False),
    ],
    task_format: Annotated[
        Literal["retrace", "terminal-bench", "harbor"],
        typer.Option("--format", help="Format of the task's files."),
    ] = "retrace",
    kind: Annotated[
        Literal["program", "rebuild"],
        typer.Option(help="Task to start from: a program to write, or one to rebuild that can be run but not read."),
    ] = "program",
    json: JsonOption = False,
) -> None:
    """Write a small task to start from.

    The task has an image, an instruction, a hidden suite and a solution: `--model oracle` passes, `--model nop` fails.
    With `--kind rebuild`, image and expected answers are made by `agent tasks make rebuild`.
    """
    from agent.cli.output import emit_json
    from agent.cli.results import print_next
    from agent.making.new import REBUILT, new_task as write
    from trajectories.record.texts.text import printable

    files = write(directory, task_format, kind)
    if json:
        emit_json({"directory": str(directory), "format": task_format, "files": [str(file) for file in files]})
        return
    for file in files:
        typer.echo(printable(str(directory / file)))
    if kind == "rebuild":
        print_next(f"tasks make rebuild image {' '.join(REBUILT)}", None, effect="builds its image")
    else:
        print_next("tasks check", str(directory), effect="proves that the task works")
