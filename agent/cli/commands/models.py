"""`agent models`: which models have a short name, a price and a key."""

from __future__ import annotations

from typing import Annotated

import typer

app = typer.Typer(help="List models.", no_args_is_help=True, rich_markup_mode=None)


@app.callback()
def _group() -> None:
    """List models."""


@app.command("list")
def list_models(json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False) -> None:
    """List the aliases, what they stand for, their prices, and whether a key is set."""
    from agent.cli.output import emit_json, said, stdout
    from agent.models.choose import FREE_MODELS
    from agent.models.listing import PRICES, model_rows

    rows = model_rows()
    if json:
        emit_json({"models": rows, "free": FREE_MODELS})
        return
    from rich.table import Table

    table = Table(box=None, pad_edge=False)
    for column in rows[0] if rows else ():
        table.add_column(column, justify="right" if column in PRICES else "left")
    for row in rows:
        table.add_row(*(said(cell) for cell in row.values()))
    stdout().print(table)
    typer.echo("prices in US dollars per million tokens", err=True)
    free = "; ".join(f"{name}: {about}" for name, about in FREE_MODELS.items())
    typer.echo(f"also, at no cost: {free}", err=True)
