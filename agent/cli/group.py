"""Commands and groups of commands as the application builds them, with the layout of their help.

Options stand under the heading of their panel. At the end come the examples and the page to read, from `examples`.
A group prints its help if no command is named: the application, and verbs such as `agent tasks`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup

_TYPE = re.compile(r" <(?:list\[)?([^\]>]*)\]?>$")
"""The type of a value as typer writes it, behind the name of an argument or an option: ` <list[png|svg]>`."""
_EXTRA = re.compile(r"(?P<end>\.?)\s*\[(?P<notes>(?:default: |required|\d+<|x[<>])[^\]]*)\]$")
"""The default, the range and the word `required` as typer writes them, at the end of a help text."""


class HelpedCommand(TyperCommand):
    """A command whose help groups the options by panel, without names of types, and ends with examples."""

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        """Return the words of the line of usage; typer puts required arguments in braces."""
        return [re.sub(r"\{(.*?)(\.\.\.)?\}", r"\1", piece) for piece in super().collect_usage_pieces(ctx)]

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write the arguments, the options without a panel, and the options of each panel."""
        sections: dict[str, list[tuple[str, str]]] = {"Arguments": [], "Options": []}
        parameters = self.get_params(ctx)
        panels = {panel for parameter in parameters if (panel := getattr(parameter, "rich_help_panel", None))}
        for parameter in parameters:
            record = parameter.get_help_record(ctx)
            if record is None:
                continue
            if parameter.param_type_name == "argument":
                sections["Arguments"].append((_TYPE.sub("", record[0]), _EXTRA.sub(r"\g<end>", record[1])))
                continue
            panel = getattr(parameter, "rich_help_panel", None) if len(panels) > 1 else None
            line = (_TYPE.sub(_placeholder, record[0]), _EXTRA.sub(_stated, record[1]))
            sections.setdefault(panel or "Options", []).append(line)
        if len(sections["Options"]) == 1:  # only --help
            sections["Options"] = sections.pop("Options")
        for title, lines in sections.items():
            if lines:
                with formatter.section(title):
                    formatter.write_dl(lines)

    def format_epilog(self, ctx: Any, formatter: Any) -> None:
        """Write the examples and the page to read."""
        write_examples(ctx, formatter)


class CommandWithVerbs(HelpedCommand):
    """A command that does something by itself, and something else if its first word is one of its verbs.

    `agent batch SPEC` runs a batch, `agent batch status DIR` is another command. A file with the name of a verb is
    written with its directory: `./status`.
    """

    verbs: Mapping[str, TyperCommand] = {}

    def make_context(self, info_name: Any, args: list[str], parent: Any = None, **extra: Any) -> Any:
        """Return the context of the command, or of the verb that the arguments begin with."""
        if args and (verb := self.verbs.get(args[0])) is not None:
            return verb.make_context(f"{info_name} {args[0]}", args[1:], parent=parent, **extra)
        return super().make_context(info_name, args, parent=parent, **extra)

    def format_epilog(self, ctx: Any, formatter: Any) -> None:
        """Write the verbs, then the examples and the page to read."""
        with formatter.section("Other commands"):
            formatter.write_dl(
                [(f"{ctx.command_path} {name}", verb.get_short_help_str(90)) for name, verb in self.verbs.items()]
            )
        super().format_epilog(ctx, formatter)


def with_verbs(name: str, command: Callable[..., Any], verbs: Mapping[str, Callable[..., Any]]) -> typer.Typer:
    """Return an application of one command with verbs."""
    commands: dict[str, TyperCommand] = {}
    for verb, function in verbs.items():
        commands[verb] = _single(verb, function, HelpedCommand)

    class Command(CommandWithVerbs):
        pass

    Command.verbs = commands
    application = plain_application()
    application.command(name, cls=Command)(command)
    return application


def _single(name: str, function: Callable[..., Any], cls: type[TyperCommand]) -> TyperCommand:
    application = plain_application()
    application.command(name, cls=cls)(function)
    command = typer.main.get_command(application)
    assert isinstance(command, TyperCommand)
    return command


class HelpedGroup(TyperGroup):
    """A group whose help ends with examples."""

    def format_epilog(self, ctx: Any, formatter: Any) -> None:
        """Write the examples and the page to read."""
        write_examples(ctx, formatter)


def _placeholder(type: re.Match[str]) -> str:
    return " " + {"str": "TEXT", "int": "N", "float": "X", "path": "PATH"}.get(type[1], type[1])


def _stated(extra: re.Match[str]) -> str:
    notes = extra["notes"].split("; ")
    stated = [note.removeprefix("default: ") for note in notes if note.startswith(("default: ", "required"))]
    return f" [{stated[0]}]." if stated else extra["end"]


def write_examples(context: Any, formatter: Any) -> None:
    """Write the examples of a command, each with a line above that describes it, and the page to read."""
    from agent.cli.examples import EXAMPLES, PAGES

    path = context.command_path.removeprefix("agent").strip()
    if examples := EXAMPLES.get(path):
        with formatter.section("Examples"):
            for purpose, line in examples:
                formatter.write(f"{'':{formatter.current_indent}}# {purpose}\n")
                formatter.write(f"{'':{formatter.current_indent}}{line}\n")
    if page := PAGES.get(path):
        formatter.write_paragraph()
        formatter.write(f"Documentation: {page}\n")


def command_group(help: str) -> typer.Typer:
    """Return an empty group of commands with this help; add its commands with `cls=HelpedCommand`."""
    group = plain_application(help=help)
    group.callback(invoke_without_command=True)(print_help)
    return group


def plain_application(
    *, name: str | None = None, help: str | None = None, cls: type[TyperGroup] = HelpedGroup, completion: bool = False
) -> typer.Typer:
    """Return an application without commands, and without typer's own markup and tracebacks."""
    return typer.Typer(
        name=name,
        help=help,
        cls=cls,
        add_completion=completion,
        rich_markup_mode=None,
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"]},
    )


def print_help(context: typer.Context) -> None:
    """Print the help of a group on standard error, as a usage error, if no command is named."""
    if context.invoked_subcommand is None:
        typer.echo(context.get_help(), err=True)
        raise typer.Exit(2)
