"""A group of commands that prints its help if no command is named: the application, and verbs such as `agent tasks`."""

from __future__ import annotations

import typer


def command_group(help: str, name: str | None = None) -> typer.Typer:
    """Return an empty group of commands with this help."""
    group = typer.Typer(
        name=name,
        help=help,
        add_completion=False,
        rich_markup_mode=None,
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    group.callback(invoke_without_command=True)(_print_help)
    return group


def _print_help(context: typer.Context) -> None:
    if context.invoked_subcommand is None:
        typer.echo(context.get_help(), err=True)
        raise typer.Exit(2)
