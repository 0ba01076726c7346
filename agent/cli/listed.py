"""The verbs of the application: listed with one line each, and imported only when they are called.

The verb `NAME` is in the module `agent.cli.commands.NAME`: a function of the same name, or `app`, a group of commands.
Importing all of them takes as long as the rest of `agent --help`.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from keyword import iskeyword
from typing import Annotated, Any

import typer
from typer.core import TyperCommand

from agent.cli.group import HelpedCommand, HelpedGroup, plain_application, print_help


def listed_commands(help: str, commands: Mapping[str, Mapping[str, str]]) -> typer.Typer:
    """Return the group of these commands, each with the line that stands for it in the help of the group.

    The help lists them by purpose, the keys of the outer mapping.
    """

    class Listed(_Listed):
        purposes = commands

    application = plain_application(name="agent", help=help, cls=Listed, completion=True)
    application.callback(invoke_without_command=True)(_version_or_help)
    return application


def _version_or_help(
    context: typer.Context,
    version: Annotated[bool, typer.Option("--version", help="Show the version and exit.", is_eager=True)] = False,
) -> None:
    if version:
        from importlib.metadata import version as version_of

        typer.echo(f"retrace {version_of('retrace-agent')}")
        raise typer.Exit
    print_help(context)


class _Listed(HelpedGroup):
    """A group that knows its commands by purpose, name and line; `get_command` imports one."""

    purposes: Mapping[str, Mapping[str, str]]

    def __init__(self, **attributes: Any) -> None:
        super().__init__(**attributes)
        for lines in self.purposes.values():
            for name, line in lines.items():
                self.add_command(TyperCommand(name, help=line))
        self._imported: dict[str, Any] = {}
        self._completes_a_name = False

    def shell_complete(self, ctx: Any, incomplete: str) -> Any:
        """Return the commands that begin with a text, without importing any of them."""
        self._completes_a_name = True
        return super().shell_complete(ctx, incomplete)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """Return the command of this name with its arguments and options, or None."""
        if cmd_name not in self.commands or self._completes_a_name:
            return self.commands.get(cmd_name)
        if cmd_name not in self._imported:
            self._imported[cmd_name] = _import(cmd_name)
        return self._imported[cmd_name]

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Write the list of commands without importing any of them."""
        width = max(map(len, self.commands))
        for purpose, lines in self.purposes.items():
            with formatter.section(purpose):
                for name in lines:
                    line = self.commands[name].get_short_help_str(formatter.width - 6 - width)
                    formatter.write(f"  {name:{width}}  {line}\n")


def _import(name: str) -> Any:
    identifier = f"{name}_" if iskeyword(name) else name
    module = import_module(f"agent.cli.commands.{identifier}")
    app = getattr(module, "app", None)
    if app is None:
        app = plain_application()
        app.command(name, cls=HelpedCommand)(getattr(module, identifier))
    command = typer.main.get_command(app)
    command.name = name
    return command
