"""`agent models`: list the models with a short name, with their prices and keys."""

from __future__ import annotations

import typer

from agent.cli.group import HelpedCommand, command_group
from agent.cli.options import JsonOption

app = command_group("List models with their prices and keys.")


@app.command("list", cls=HelpedCommand)
def list_models(json: JsonOption = False) -> None:
    """List the aliases of models with their prices and keys."""
    from agent.cli.output import emit_json
    from agent.cli.tables import print_table, rows_table
    from agent.models.choose import FREE_MODELS
    from agent.models.listing import model_rows

    rows = model_rows()
    if json:
        emit_json({"models": rows, "free": FREE_MODELS})
        return
    columns = ("alias", "model", "input", "cache_read", "output", "key")
    print_table(rows_table(columns, rows, text=("alias", "model", "key"), first_out=("cache_read", "model")))
    typer.echo("prices in US dollars per million tokens", err=True)
    free = "; ".join(f"{name}: {description}" for name, description in FREE_MODELS.items())
    typer.echo(f"also, at no cost: {free}", err=True)


@app.command("settings", cls=HelpedCommand)
def list_settings(json: JsonOption = False) -> None:
    """List the settings that --model-setting takes.

    Parameters of the model's API are taken as well.
    """
    from agent.cli.output import emit_json
    from agent.models.litellm.settings import OWN

    rows = [
        {"setting": name, "default": default, "meaning": meaning.replace("`", "")}
        for name, (default, meaning) in OWN.items()
    ]
    if json:
        emit_json({"settings": rows})
        return
    for row in rows:
        typer.echo(f"{row['setting']} [{row['default']}]: {row['meaning']}")
    typer.echo("any other setting is sent to the provider: --model-setting temperature=0", err=True)
