"""`agent tasks add` and `agent tasks remove`: give folders of task directories a name, or forget it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from agent.cli import completion
from agent.cli.options import JsonOption


def add(
    directory: Annotated[
        Path, typer.Argument(metavar="DIR", help="Folder that holds task directories, of any format.")
    ],
    name: Annotated[
        str | None, typer.Option(metavar="NAME", help="Name of the dataset [the folder's name].", show_default=False)
    ] = None,
    json: JsonOption = False,
) -> None:
    """Register a folder of task directories under a name.

    Its tasks are then listed and found like those of a benchmark: NAME/TASK. The name is kept in `config.yaml`.
    """
    from agent.cli.output import emit_json
    from agent.datasets import add_dataset

    dataset = add_dataset(directory, name)
    rows = dataset.rows()
    if json:
        emit_json(
            {
                "name": dataset.name,
                "directory": str(dataset.root),
                "tasks": len(rows.rows),
                "broken": list(rows.broken),
            }
        )
        return
    for line in rows.broken:
        typer.echo(f"cannot be read: {line}", err=True)
    typer.echo(f"{dataset.name}: {len(rows.rows)} tasks in {dataset.root}")
    typer.echo(f"list them: agent tasks list --benchmark {dataset.name}")


def remove(
    name: Annotated[
        str, typer.Argument(metavar="NAME", help="Name of a registered dataset.", autocompletion=completion.datasets)
    ],
    json: JsonOption = False,
) -> None:
    """Forget the name of a dataset; its files stay.

    Trials of its tasks stay too. They can be resumed and evaluated once its folder has the same name again.
    """
    from agent.cli.output import emit_json
    from agent.datasets import remove_dataset

    directory = remove_dataset(name)
    if json:
        emit_json({"name": name, "directory": str(directory)})
    else:
        typer.echo(f"{name} is forgotten; its files stay in {directory}")
