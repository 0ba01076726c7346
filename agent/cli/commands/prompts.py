"""`agent prompts`: list, show and compare prompts."""

from __future__ import annotations

from typing import Annotated

import typer

from agent.cli import completion
from agent.cli.group import HelpedCommand, command_group
from agent.cli.options import JsonOption

app = command_group("List, show and compare prompts.")


@app.command("list", cls=HelpedCommand)
def list_prompts(json: JsonOption = False) -> None:
    """List the prompts that come with Retrace."""
    from agent.cli.output import emit_json
    from agent.cli.tables import print_table, rows_table
    from prompts import load, names

    rows = []
    for name in names():
        prompt = load(name)
        row = {"name": name, "recorded_as": prompt.name, "shown_characters": prompt.shown_characters or 10_000}
        rows.append({**row, "fence": prompt.fence, "variables": dict(prompt.variables), "sha256": prompt.sha256})
    if json:
        emit_json({"prompts": rows})
        return
    columns = ("name", "recorded_as", "shown_characters", "fence", "sha256")
    short = [{**row, "fence": row["fence"] or "bash", "sha256": str(row["sha256"])[:12]} for row in rows]
    print_table(rows_table(columns, short, text=("name", "recorded_as", "fence", "sha256")))
    typer.echo("a name without a number is the newest version; a file of your own may extend any of them", err=True)


@app.command("show", cls=HelpedCommand)
def show_prompt(
    name: Annotated[
        str,
        typer.Argument(metavar="PROMPT", help="Prompt: a name or a file.", autocompletion=completion.prompts),
    ],
    diff: Annotated[
        str | None,
        typer.Option(
            metavar="OTHER",
            help="Prompt to compare it with, a name or a file: prints what PROMPT has otherwise.",
            autocompletion=completion.prompts,
        ),
    ] = None,
    json: JsonOption = False,
) -> None:
    """Print a complete prompt, or its differences from another one.

    The prompt is printed as a trial records it.
    """
    from dataclasses import asdict

    from agent.cli.output import emit_json
    from agent.errors import UserError
    from prompts import PromptError, differences, load
    from trajectories.record.texts.text import printable

    try:
        prompt = load(name)
        other = None if diff is None else load(diff)
    except PromptError as error:
        raise UserError(str(error)) from None
    changes = [] if other is None else list(differences(other, prompt))
    if json:
        content: dict[str, object] = {"name": prompt.name, "sha256": prompt.sha256, "text": prompt.data.decode()}
        compared = {} if other is None else {"other": other.name, "differences": [asdict(each) for each in changes]}
        emit_json(content | compared)
        return
    if other is None:
        typer.echo(printable(prompt.data.decode()), nl=not prompt.data.endswith(b"\n"))
        return
    typer.echo(printable(f"--- {other.name}\n+++ {prompt.name}"))
    for change in changes:
        typer.echo(printable("\n".join((f"\n{change.key} ({change.change})", *change.lines))))
    if not changes:
        typer.echo("no difference", err=True)
