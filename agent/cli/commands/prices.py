"""`agent prices`: dated snapshots of what tokens cost."""

from __future__ import annotations

from typing import Annotated

import typer

from agent.cli.group import command_group

app = command_group("List, take and compare snapshots of what tokens cost.")

_JSON = Annotated[bool, typer.Option("--json", help="Print one JSON object.")]
_MODELS = Annotated[
    list[str] | None, typer.Option("--model", help="Only this model, an alias or a litellm name; may be repeated.")
]

_TEXT_COLUMNS = ("name", "model", "source", "problem", "date", "rate", "tier", "sha256")


@app.command("list")
def list_prices(
    name: Annotated[
        str | None, typer.Argument(metavar="[NAME]", help="A snapshot: show its rates.", show_default=False)
    ] = None,
    model: _MODELS = None,
    json: _JSON = False,
) -> None:
    """List the price tables that there are, or the rates in one."""
    from agent.cli.output import emit_json, stdout
    from agent.cli.tables import rows_table
    from agent.errors import UserError
    from agent.reports.prices import price_rows, table_rows

    if name is None and model:
        raise UserError("--model chooses rows of a table: name the table (agent prices list names them all)")
    rows = table_rows() if name is None else price_rows(name, model or ())
    if json:
        emit_json({"tables": rows} if name is None else {"name": name, "usd_per_million_tokens": rows})
        return
    if name is None:
        for row in rows:
            row["sha256"] = row["sha256"][:12]
    stdout().print(rows_table(rows, text=_TEXT_COLUMNS, unbroken=("name", "model"), missing=""))
    if name is not None:
        typer.echo("US dollars per million tokens; above: for longer prompts, in tokens", err=True)


@app.command("snapshot")
def snapshot(
    name: Annotated[str, typer.Argument(metavar="NAME", help="What --prices will take.")],
    source: Annotated[
        str | None,
        typer.Option(
            "--from", metavar="litellm|FILE", help="litellm's table, or a YAML or JSON file.", show_default=False
        ),
    ] = None,
    model: _MODELS = None,
    set_: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="'MODEL RATE=X ...'",
            help="A model by hand, per token: 'm input=3e-6 output=1.5e-5 input@200000=6e-6 batch.input=1.5e-6'.",
        ),
    ] = None,
    rate: Annotated[
        list[str] | None, typer.Option(metavar="CNY=6.77", help="Units of a currency worth one US dollar.")
    ] = None,
    currency: Annotated[str | None, typer.Option(help="Of the rates of --set [USD].", show_default=False)] = None,
    date: Annotated[
        str | None, typer.Option(help="As of which day the prices are [today].", show_default=False)
    ] = None,
    json: _JSON = False,
) -> None:
    """Keep prices under a name: of the installed litellm, of a file, or typed. It never changes again."""
    from agent.cli.output import emit_json
    from agent.reports.prices import make_snapshot
    from trajectories.record.text import printable, quantity

    made = make_snapshot(
        name,
        source=source,
        models=model or (),
        rows=set_ or (),
        rates=rate or (),
        currency=currency,
        date=date,
    )
    for gap, buckets in made["gaps"].items():
        typer.echo(printable(f"note: {gap} has no rate of {' and '.join(buckets)}: its calls have no price"), err=True)
    if made["off_peak"]:
        few = ", ".join(made["off_peak"][:3])
        typer.echo(f"note: cheaper at some hours, kept at the standing rates: {few}, ...", err=True)
    if json:
        emit_json(made)
        return
    typer.echo(printable(f"{made['file']}   {quantity(made['models'], 'model')}, {made['date']}"))


@app.command("diff")
def diff(
    old: Annotated[str, typer.Argument(metavar="A", help="A table's name.")],
    new: Annotated[str, typer.Argument(metavar="B", help="Another's.")],
    json: _JSON = False,
) -> None:
    """Compare two tables: models that came and went, rates that changed."""
    from agent.cli.output import emit_json, stdout
    from agent.cli.tables import rows_table
    from agent.reports.prices import compare
    from trajectories.record.text import quantity

    found = compare(old, new)
    if json:
        emit_json(found)
        return
    console = stdout()
    for mark, key in (("+", "added"), ("-", "removed")):
        for model in found[key]:
            console.print(f"{mark} {model}")
    if found["changed"]:
        console.print(rows_table(found["changed"], text=_TEXT_COLUMNS, unbroken=("name", "model")))
    typer.echo(
        f"{len(found['added'])} added, {len(found['removed'])} removed, {len(found['changed'])} rates changed, "
        f"{quantity(found['same'], 'model')} the same; US dollars per million tokens",
        err=True,
    )
