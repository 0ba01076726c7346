"""`agent tasks`: what can be solved."""

from __future__ import annotations

from typing import Annotated

import typer

from agent.cli.group import command_group

app = command_group("List and show tasks.")

_JSON = Annotated[bool, typer.Option("--json", help="Print one JSON object.")]


@app.command("list")
def list_tasks(
    words: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[WORD]...",
            help="Only tasks with all of these in their id, title or repository, or as language or difficulty.",
            show_default=False,
        ),
    ] = None,
    benchmark: Annotated[str | None, typer.Option(help="Only this benchmark's.", show_default=False)] = None,
    json: _JSON = False,
) -> None:
    """List tasks."""
    from agent.cli.output import emit_json
    from agent.cli.tables import plain_table
    from agent.errors import UserError
    from benchmarks.task.registry import task_lists
    from benchmarks.task.task import TaskError

    try:
        lists = [found for found in task_lists(benchmark, words or ()) if found.rows]
    except TaskError as error:
        raise UserError(str(error)) from None
    if json:
        emit_json({"tasks": [row for found in lists for row in found.rows]})
        return
    if not lists:
        typer.echo("no task has that; agent tasks list shows all", err=True)
    for number, found in enumerate(lists):
        typer.echo("\n" * bool(number) + plain_table(found.columns, found.rows))


@app.command("show")
def show_task(
    task: Annotated[str, typer.Argument(metavar="TASK", help="A task's id, short name or directory.")],
    json: _JSON = False,
) -> None:
    """Show one task: what it asks, and under which conditions."""
    from agent.cli.output import emit_json, readable, stdout
    from agent.errors import UserError
    from benchmarks.task.registry import resolve_task
    from benchmarks.task.task import TaskError

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
        "variants": dict(found.variants),
        "solution": found.solution is not None,
        "instruction": found.instruction,
    }
    if json:
        emit_json(content)
        return
    from trajectories.record.text import printable

    console = stdout()
    for name, change in found.variants.items():
        content[f"--variant {name}"] = change
    for key, value in content.items():
        if key not in ("instruction", "variants"):
            console.print(printable(f"{key}: {readable(value) or 'not said'}"), soft_wrap=True)
    console.print(printable(f"\n{found.instruction}"), soft_wrap=True)
