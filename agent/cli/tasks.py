"""`agent tasks`: what can be solved."""

from __future__ import annotations

from typing import Annotated

import typer

app = typer.Typer(help="List and show tasks.", no_args_is_help=True, rich_markup_mode=None)

_JSON = Annotated[bool, typer.Option("--json", help="Print one JSON object.")]


@app.command("list")
def list_tasks(
    benchmark: Annotated[str | None, typer.Option(help="Only this benchmark's.", show_default=False)] = None,
    json: _JSON = False,
) -> None:
    """List all tasks."""
    from agent.cli.output import emit_json, stdout
    from agent.errors import UserError
    from benchmarks.registry import task_rows
    from benchmarks.task import TaskError

    try:
        rows = task_rows(benchmark)
    except TaskError as error:
        raise UserError(str(error)) from None
    if json:
        emit_json({"tasks": rows})
        return
    from rich.table import Table

    table = Table(box=None, pad_edge=False)
    for column in rows[0] if rows else ():
        table.add_column(column, no_wrap=column == "id")
    for row in rows:
        table.add_row(*(", ".join(cell) if isinstance(cell, list) else str(cell) for cell in row.values()))
    stdout().print(table)


@app.command("show")
def show_task(
    task: Annotated[str, typer.Argument(metavar="TASK", help="A task's id, short name or directory.")],
    json: _JSON = False,
) -> None:
    """Show one task: what it asks, and under which conditions."""
    from agent.cli.output import emit_json, said, stdout
    from agent.errors import UserError
    from benchmarks.registry import resolve_task
    from benchmarks.task import TaskError

    try:
        _, found = resolve_task(task)
    except TaskError as error:
        raise UserError(str(error)) from None
    content = {
        "id": found.id,
        "title": found.title,
        "benchmark": found.benchmark,
        "environments": list(found.kinds),
        "language": found.language,
        "workdir": str(found.spec.workdir),
        "user": found.spec.user,
        "network": found.spec.network,
        "limits": found.limits.model_dump(),
        "digest": found.digest,
        **found.facts,
        "solution": found.solution is not None,
        "instruction": found.instruction,
    }
    if json:
        emit_json(content)
        return
    from trajectories.text import printable

    console = stdout()
    for key, value in content.items():
        if key != "instruction":
            console.print(printable(f"{key}: {said(value)}"), soft_wrap=True)
    console.print(printable(f"\n{found.instruction}"), soft_wrap=True)
