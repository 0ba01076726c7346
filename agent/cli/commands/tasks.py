"""`agent tasks`: list, show and make tasks, and register datasets."""

from __future__ import annotations

from typing import Annotated

import typer

from agent.cli import completion
from agent.cli.group import HelpedCommand, command_group
from agent.cli.making import export, new, rebuild
from agent.cli.options import JsonOption
from agent.cli.tasks import check, datasets, show
from scoring.choices import Tier

app = command_group("List, show and make tasks.")

_TEXT_COLUMNS = ("id", "title", "kind", "repository", "language", "environments", "difficulty")
_FIRST_OUT = ("environments", "repository", "kind", "title")


@app.command("list", cls=HelpedCommand)
def list_tasks(
    words: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="WORD",
            help="Words that a listed task must all match: in its id, title or repository, or as its language, "
            "difficulty or kind.",
            show_default=False,
        ),
    ] = None,
    benchmark: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="Benchmark or dataset whose tasks are listed [all].",
            show_default=False,
            autocompletion=completion.benchmarks,
        ),
    ] = None,
    tier: Annotated[
        Tier | None,
        typer.Option(
            help="Tier of difficulty of the listed tasks; tasks without one are left out.", show_default=False
        ),
    ] = None,
    json: JsonOption = False,
) -> None:
    """List the tasks of all benchmarks and registered datasets."""
    from agent.cli.output import emit_json
    from agent.cli.tables import print_table, rows_table
    from agent.config import datasets as registered
    from agent.errors import UserError
    from benchmarks.task.registry import task_lists
    from benchmarks.task.task import TaskError

    try:
        lists = task_lists(benchmark, words or (), tier=tier, datasets=registered())
    except TaskError as error:
        raise UserError(str(error)) from None
    broken = [line for tasks in lists for line in tasks.broken]
    lists = [tasks for tasks in lists if tasks.rows]
    if json:
        emit_json({"tasks": [row for tasks in lists for row in tasks.rows], "broken": broken})
        return
    for line in broken:
        typer.echo(f"cannot be read: {line}", err=True)
    if not lists:
        typer.echo(f"no task matches; {_wider(benchmark, tier)}", err=True)
    for number, tasks in enumerate(lists):
        typer.echo("\n" * bool(number), nl=False)
        print_table(rows_table(tasks.columns, tasks.rows, text=_TEXT_COLUMNS, first_out=_FIRST_OUT, missing=""))


def _wider(benchmark: str | None, tier: Tier | None) -> str:
    """Return the way out for a list without tasks."""
    from agent.config import datasets as registered
    from benchmarks.task.registry import task_lists

    lists = task_lists(benchmark, datasets=registered()) if tier is not None else []
    if tier is not None and not any(row.get("difficulty") for tasks in lists for row in tasks.rows):
        return f"the tasks of {benchmark or 'these benchmarks'} have no tier: leave out --tier"
    return "`agent tasks list` without words and options lists all"


app.command("show", cls=HelpedCommand)(show.show_task)
app.command("new", cls=HelpedCommand)(new.new_task)
app.command("export", cls=HelpedCommand)(export.export_task)
app.add_typer(rebuild.make, name="make")
app.command("check", cls=HelpedCommand)(check.check)
app.command("add", cls=HelpedCommand)(datasets.add)
app.command("remove", cls=HelpedCommand)(datasets.remove)
