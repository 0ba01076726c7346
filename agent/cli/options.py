"""Arguments and options that several commands share, each written once.

A command annotates its parameter with a type from here (`runs: RunsOption = None`). An option whose default differs
between commands is a function of that default. Help texts can be understood alone; a default stands in brackets.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from scoring.choices import PlotFormat

TrialArgument = Annotated[str, typer.Argument(metavar="TRIAL", help="Trial: a directory, or the beginning of an id.")]

TrialsArgument = Annotated[
    list[str],
    typer.Argument(metavar="TRIAL", help="Trials (directories or beginnings of ids), or directories of batches."),
]

RunsOption = Annotated[Path | None, typer.Option(metavar="DIR", help="Directory under which trials are kept [runs].")]

JsonOption = Annotated[bool, typer.Option("--json", help="Print one JSON object on standard output.")]

ModelSettingOption = Annotated[
    list[str] | None, typer.Option(metavar="KEY=VALUE", help="Setting of the model, such as temperature=0; repeatable.")
]

ApiBaseOption = Annotated[str | None, typer.Option(metavar="URL", help="Endpoint of the model's API.")]

NoEvaluateOption = Annotated[bool, typer.Option("--no-evaluate", help="Skip the evaluation of the workspace.")]

RemovalDryRunOption = Annotated[
    bool, typer.Option("--dry-run", help="Report what would be removed, and remove nothing.")
]

PlotsOption = Annotated[Path | None, typer.Option(metavar="DIR", help="Draw plots into this directory.")]

PlotFormatOption = Annotated[list[PlotFormat] | None, typer.Option(help="Picture format; repeatable [png].")]


def env_option(default: str) -> Any:
    """Return the option `--env`; `default` tells which environment is used without it."""
    return typer.Option(metavar="KIND", help=f"Environment: docker, sandbox or local [{default}].")


def model_option(default: str) -> Any:
    """Return the option `--model`."""
    return typer.Option(
        help="Model: an alias such as opus, a litellm name, script:FILE, replay:TRIAL, human, oracle (the task's own "
        f"solution) or nop (submits at once) [{default}]."
    )


def prompt_option(default: str) -> Any:
    """Return the option `--prompt`."""
    return typer.Option(help=f"Prompt: a name or a file [{default}].")


def prices_option(default: str) -> Any:
    """Return the option `--prices`."""
    return typer.Option(metavar="NAME", help=f"Price snapshot that calls are priced with [{default}].")


def step_limit_option(default: str) -> Any:
    """Return the option `--step-limit`."""
    return typer.Option(metavar="N", help=f"Maximum number of steps [{default}].")


def time_limit_option(default: str) -> Any:
    """Return the option `--time-limit`."""
    return typer.Option(metavar="DURATION", help=f"Maximum wall-clock time, such as 90s, 15m or 6h [{default}].")


def cost_limit_option(default: str) -> Any:
    """Return the option `--cost-limit`."""
    return typer.Option(metavar="USD", help=f"Maximum cost in US dollars, or none [{default}].")


def token_limit_option(default: str) -> Any:
    """Return the option `--token-limit`."""
    return typer.Option(metavar="N", help=f"Maximum number of tokens, such as 200k or 2M [{default}].")


def command_timeout_option(default: str) -> Any:
    """Return the option `--command-timeout`."""
    return typer.Option(metavar="DURATION", help=f"Time after which a single command is stopped [{default}].")
