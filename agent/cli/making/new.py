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
    json: JsonOption = False,
) -> None:
    """Write a small task to start from.

    The task has an image, an instruction, a hidden suite and a solution: `--model oracle` passes, `--model nop` fails.
    """
    from agent.cli.output import emit_json
    from agent.cli.results import print_next
    from agent.making.new import new_task as write
    from trajectories.record.texts.text import printable

    files = write(directory, task_format)
    if json:
        emit_json({"directory": str(directory), "format": task_format, "files": [str(file) for file in files]})
        return
    for file in files:
        typer.echo(printable(str(directory / file)))
    print_next("solve", None, {"--task": directory, "--model": "oracle"}, effect="runs its solution")
