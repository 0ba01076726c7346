"""`agent tasks`: list, show and make tasks, and register datasets."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from agent.cli import completion
from agent.cli.group import HelpedCommand, command_group
from agent.cli.making import export, new, rebuild
from agent.cli.options import JsonOption
from agent.cli.tasks import check, datasets
from scoring.choices import Tier

if TYPE_CHECKING:
    from benchmarks.task.formats import Format
    from benchmarks.task.task import Task

app = command_group("List, show and make tasks.")
app.command("new", cls=HelpedCommand)(new.new_task)
app.command("export", cls=HelpedCommand)(export.export_task)
app.add_typer(rebuild.make, name="make")
app.command("check", cls=HelpedCommand)(check.check)
app.command("add", cls=HelpedCommand)(datasets.add)
app.command("remove", cls=HelpedCommand)(datasets.remove)

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


@app.command("show", cls=HelpedCommand)
def show_task(
    reference: Annotated[
        str,
        typer.Argument(
            metavar="TASK",
            help="Task: an id, a short name or a task directory.",
            autocompletion=completion.tasks,
        ),
    ],
    json: JsonOption = False,
) -> None:
    """Show one task: its instruction, its conditions and its variants."""
    from agent.cli.output import emit_json, paged, readable
    from agent.config import datasets as registered
    from agent.errors import UserError
    from benchmarks.task.formats import format_of
    from benchmarks.task.registry import resolve_task
    from benchmarks.task.task import TaskError

    try:
        _, task = resolve_task(reference, datasets=registered())
    except TaskError as error:
        raise UserError(str(error)) from None
    task_format = None if task.directory is None else format_of(task.directory)
    content: dict[str, Any] = {
        "id": task.id,
        "title": task.title,
        "benchmark": task.benchmark,
        "environments": list(task.kinds),
        "language": task.language,
        "workdir": task.spec.workdir and str(task.spec.workdir),
        "user": task.spec.user,
        "network": task.spec.network,
        "limits": task.limits.model_dump(),
        "digest": task.digest,
        "format": task_format or "",
        "result": task.result,
        "submissions": list(task.submissions),
        "settings": _settings(task, task_format),
        "prompt": task.prompt,
        "shell": task.shell or "",
        **task.facts,
        "feedback": list(task.feedback),
        "feedback_revealing": list(task.feedback_revealing),
        "variants": dict(task.variants),
        "solution": task.reference is not None,
        "instruction": task.instruction,
    }
    if json:
        emit_json(content)
        return
    from trajectories.record.texts.text import printable

    content["result"] = f"{task.result} ({_RESULTS[task.result]})"
    content["shell"] = task.shell or "any"
    content["settings"] = content["settings"] or "none"
    content["feedback with --reveal-tests"] = list(task.feedback_revealing)
    for name, change in task.variants.items():
        content[f"--variant {name}"] = change
    with paged() as console:
        for key, value in content.items():
            if key not in ("instruction", "variants", "feedback_revealing"):
                console.print(printable(f"{key}: {readable(value) or 'not specified'}"), soft_wrap=True)
        console.print(printable(f"\nthe model sees, inside of the prompt {task.prompt}:\n"), soft_wrap=True)
        console.print(printable(task.instruction), soft_wrap=True)


_RESULTS: dict[str, str] = {
    "workspace": "the files of the workspace are judged, in an environment of their own",
    "system": "the container is judged live, with everything that the agent installed or left running",
}


def _settings(task: Task, task_format: Format | None) -> list[str]:
    """Return the options of `agent solve` that change something about this task."""
    if task_format in (None, "retrace"):
        return []
    of_system = ["--isolated-verifier"] if "live" in task.submissions else []
    return ["--overlay", "--base-image", "--test-timeout-multiplier", *of_system]


def _wider(benchmark: str | None, tier: Tier | None) -> str:
    """Return the way out for a list without tasks."""
    from agent.config import datasets as registered
    from benchmarks.task.registry import task_lists

    lists = task_lists(benchmark, datasets=registered()) if tier is not None else []
    if tier is not None and not any(row.get("difficulty") for tasks in lists for row in tasks.rows):
        return f"the tasks of {benchmark or 'these benchmarks'} have no tier: leave out --tier"
    return "`agent tasks list` without words and options lists all"
