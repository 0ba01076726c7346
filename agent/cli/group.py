"""A group of commands that prints its help if no command is named: the application, and verbs such as `agent tasks`."""

from __future__ import annotations

import typer
from typer.core import TyperGroup


def command_group(help: str) -> typer.Typer:
    """Return an empty group of commands with this help."""
    group = plain_application(help=help)
    group.callback(invoke_without_command=True)(print_help)
    return group


def plain_application(
    *, name: str | None = None, help: str | None = None, cls: type[TyperGroup] = TyperGroup
) -> typer.Typer:
    """Return an application without commands, and without typer's own completion, markup and tracebacks."""
    return typer.Typer(
        name=name,
        help=help,
        cls=cls,
        add_completion=False,
        rich_markup_mode=None,
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"]},
    )


def print_help(context: typer.Context) -> None:
    """Print the help of a group on standard error, as a usage error, if no command is named."""
    if context.invoked_subcommand is None:
        typer.echo(context.get_help(), err=True)
        raise typer.Exit(2)
