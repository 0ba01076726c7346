"""`agent prices`: dated snapshots of token prices."""

from __future__ import annotations

from typing import Annotated

import typer

from agent.cli import completion
from agent.cli.group import HelpedCommand, command_group
from agent.cli.options import JsonOption

app = command_group("List, make and compare snapshots of token prices.")

_MODELS = Annotated[
    list[str] | None,
    typer.Option(
        "--model",
        metavar="MODEL",
        help="Model to include: an alias or a litellm name; repeatable.",
        autocompletion=completion.aliases,
    ),
]

_TEXT_COLUMNS = ("name", "model", "source", "problem", "date", "rate", "tier", "sha256")
_FIRST_OUT = ("sha256", "source", "tier")


@app.command("list", cls=HelpedCommand)
def list_prices(
    name: Annotated[
        str | None,
        typer.Argument(
            metavar="NAME",
            help="Name of the table whose rates are shown.",
            show_default=False,
            autocompletion=completion.prices,
        ),
    ] = None,
    model: _MODELS = None,
    json: JsonOption = False,
) -> None:
    """List all price tables, or the rates in one of them."""
    from dataclasses import asdict

    from agent.cli.output import emit_json
    from agent.cli.tables import print_table, rows_table
    from agent.errors import UserError
    from agent.reports.price_tables import list_tables, price_lines

    if name is None and model:
        raise UserError("--model chooses rows of one table: name the table (agent prices list shows all names)")
    rows: list[dict[str, object]]
    if name is None:
        rows = [asdict(table) for table in list_tables()]
        content: dict[str, object] = {"tables": rows}
        shown = [{**row, "sha256": str(row["sha256"])[:12]} for row in rows]
    else:
        rows = [line.row() for line in price_lines(name, model or (), _names_by_alias() if model else {})]
        content = {"name": name, "usd_per_million_tokens": rows}
        shown = rows
    if json:
        emit_json(content)
        return
    columns = tuple(shown[0]) if shown else ()
    print_table(rows_table(columns, shown, text=_TEXT_COLUMNS, first_out=_FIRST_OUT, missing=""))
    if name is not None:
        typer.echo("US dollars per million tokens; above: rates for prompts with more tokens than this", err=True)


@app.command("snapshot", cls=HelpedCommand)
def snapshot(
    name: Annotated[str, typer.Argument(metavar="NAME", help="Name of the new snapshot, for use with --prices.")],
    source: Annotated[
        str | None,
        typer.Option(
            "--from",
            metavar="litellm|FILE",
            help="Source of the prices: litellm's table, or a YAML or JSON file [litellm, unless --set is given].",
            show_default=False,
        ),
    ] = None,
    model: _MODELS = None,
    set_: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="'MODEL RATE=X ...'",
            help="Rates of one model per token, such as 'm input=3e-6 output=1.5e-5 input@200000=6e-6 "
            "batch.input=1.5e-6'; repeatable.",
        ),
    ] = None,
    rate: Annotated[
        list[str] | None,
        typer.Option(
            metavar="CNY=6.77", help="Exchange rate: units of a currency that are worth one US dollar; repeatable."
        ),
    ] = None,
    currency: Annotated[
        str | None, typer.Option(metavar="CODE", help="Currency of the rates of --set [USD].", show_default=False)
    ] = None,
    date: Annotated[
        str | None,
        typer.Option(metavar="DAY", help="Day of the prices, such as 2026-06-04 [today].", show_default=False),
    ] = None,
    json: JsonOption = False,
) -> None:
    """Store prices under a name; a snapshot never changes.

    They come from the installed litellm, from a file, or from --set.
    """
    from dataclasses import asdict

    from agent.cli.output import emit_json
    from agent.reports.price_tables import make_snapshot
    from trajectories.record.texts.text import printable, quantity

    names = _names_by_alias() if model else {}
    made = make_snapshot(
        name,
        source=source,
        models=[names.get(alias, alias) for alias in model or ()],
        rows=set_ or (),
        rates=rate or (),
        currency=currency,
        date=date,
    )
    for gapped, buckets in made.gaps.items():
        typer.echo(
            printable(f"note: {gapped} has no rate of {' and '.join(buckets)}: its calls have no price"), err=True
        )
    if made.off_peak:
        few = ", ".join(made.off_peak[:3])
        typer.echo(f"note: cheaper at some hours, stored with their standing rates: {few}, ...", err=True)
    if json:
        emit_json(asdict(made))
        return
    typer.echo(printable(f"{made.file}   {quantity(made.models, 'model')}, {made.date}"))


@app.command("diff", cls=HelpedCommand)
def diff(
    old: Annotated[str, typer.Argument(metavar="A", help="Name of a table.", autocompletion=completion.prices)],
    new: Annotated[
        str, typer.Argument(metavar="B", help="Name of the table to compare it with.", autocompletion=completion.prices)
    ],
    json: JsonOption = False,
) -> None:
    """Compare the models and the rates of two tables.

    The result names models that were added or removed, and rates that changed.
    """
    from dataclasses import asdict

    from agent.cli.output import emit_json
    from agent.cli.tables import print_table, rows_table
    from agent.reports.price_tables import compare
    from trajectories.record.texts.text import printable, quantity

    difference = compare(old, new)
    if json:
        emit_json(asdict(difference))
        return
    for mark, models in (("+", difference.added), ("-", difference.removed)):
        for model in models:
            typer.echo(printable(f"{mark} {model}"))
    if difference.changed:
        rows = [asdict(change) for change in difference.changed]
        print_table(rows_table(tuple(rows[0]), rows, text=_TEXT_COLUMNS))
    typer.echo(
        f"{len(difference.added)} added, {len(difference.removed)} removed, {len(difference.changed)} rates changed, "
        f"{quantity(difference.same, 'model')} the same; US dollars per million tokens",
        err=True,
    )


def _names_by_alias() -> dict[str, str]:
    from agent.models.aliases import load_aliases

    return {alias: target.name for alias, target in load_aliases().items()}
