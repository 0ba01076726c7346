"""Arguments and options that several commands share, each written once.

A command annotates its parameter with a type from here (`runs: RunsOption = None`). An option whose default differs
between commands is a function of that default. Help texts can be understood alone; a default stands in brackets.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from agent.cli import completion
from scoring.choices import PlotFormat

TASK, MODEL, LIMITS, ENVIRONMENT, OUTPUT = "Task", "Model", "Limits", "Environment", "Output"
SELECTION = "Selection of trials"
"""Headings of options in the help."""

TrialArgument = Annotated[
    str,
    typer.Argument(
        metavar="TRIAL", help="Trial: a directory, or the beginning of an id.", autocompletion=completion.trials
    ),
]

TrialsArgument = Annotated[
    list[str],
    typer.Argument(
        metavar="TRIAL",
        help="Trials (directories or beginnings of ids), batches, or patterns such as 'batch-*'.",
        autocompletion=completion.trials,
    ),
]

SelectedTrialsArgument = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="TRIAL",
        help="Trials (directories or beginnings of ids), batches, or patterns such as 'batch-*' [all below --runs].",
        autocompletion=completion.trials,
        show_default=False,
    ),
]

TaskFilterOption = Annotated[
    list[str] | None,
    typer.Option(
        "--task",
        metavar="PATTERN",
        help="Select trials of this task, such as ledger or 'jq*'; repeatable.",
        autocompletion=completion.tasks,
        rich_help_panel=SELECTION,
    ),
]

ModelFilterOption = Annotated[
    list[str] | None,
    typer.Option(
        "--model",
        metavar="PATTERN",
        help="Select trials of this model, such as opus or 'gpt-*'; repeatable.",
        autocompletion=completion.aliases,
        rich_help_panel=SELECTION,
    ),
]

BenchmarkFilterOption = Annotated[
    list[str] | None,
    typer.Option(
        "--benchmark",
        metavar="NAME",
        help="Select trials of this benchmark; repeatable.",
        autocompletion=completion.benchmarks,
        rich_help_panel=SELECTION,
    ),
]

LabelFilterOption = Annotated[
    list[str] | None,
    typer.Option(
        "--label",
        metavar="PATTERN",
        help="Select trials with this label of agent solve; repeatable.",
        rich_help_panel=SELECTION,
    ),
]

SinceOption = Annotated[
    str | None,
    typer.Option(
        metavar="TIME",
        help="Select trials begun since a date (2026-11-01) or time (2026-11-01T09:00Z), or in the last 2d, 3h or 45m.",
        rich_help_panel=SELECTION,
    ),
]

LimitOption = Annotated[
    int | None,
    typer.Option(min=1, metavar="N", help="Take the newest N of the selected trials.", rich_help_panel=SELECTION),
]

RunsOption = Annotated[
    Path | None,
    typer.Option(metavar="DIR", help="Directory under which trials are kept [runs].", rich_help_panel=OUTPUT),
]

JsonOption = Annotated[
    bool, typer.Option("--json", help="Print one JSON object on standard output.", rich_help_panel=OUTPUT)
]

QuietOption = Annotated[
    bool,
    typer.Option(
        "--quiet",
        "-q",
        help="Print neither progress nor the next command; results, warnings and errors stay.",
        rich_help_panel=OUTPUT,
    ),
]

ModelSettingOption = Annotated[
    list[str] | None,
    typer.Option(
        metavar="KEY=VALUE",
        help="Setting of the model: timeout_s, action, api, cache or unlisted (agent models settings), or a parameter "
        "of its API such as temperature=0; repeatable.",
        rich_help_panel=MODEL,
    ),
]

ApiBaseOption = Annotated[
    str | None, typer.Option(metavar="URL", help="Endpoint of the model's API.", rich_help_panel=MODEL)
]

VariantOption = Annotated[
    list[str] | None,
    typer.Option(
        metavar="NAME",
        help="Variant of the task, as listed by agent tasks show; repeatable.",
        rich_help_panel=TASK,
    ),
]

NoEvaluateOption = Annotated[
    bool, typer.Option("--no-evaluate", help="Skip the evaluation of the workspace.", rich_help_panel=TASK)
]

RemovalDryRunOption = Annotated[
    bool, typer.Option("--dry-run", help="Report what would be removed, and remove nothing.")
]

PlotsOption = Annotated[
    Path | None, typer.Option(metavar="DIR", help="Draw plots into this directory.", rich_help_panel=OUTPUT)
]

PlotFormatOption = Annotated[
    list[PlotFormat] | None, typer.Option(help="Picture format; repeatable [png].", rich_help_panel=OUTPUT)
]


def env_option(default: str) -> Any:
    """Return the option `--env`; `default` tells which environment is used without it."""
    return typer.Option(
        metavar="KIND",
        help=f"Environment: docker, sandbox or local [{default}].",
        autocompletion=completion.kinds,
        rich_help_panel=ENVIRONMENT,
    )


def model_option(default: str) -> Any:
    """Return the option `--model`."""
    return typer.Option(
        metavar="MODEL",
        help="Model: an alias such as opus, a litellm name, script:FILE, replay:TRIAL, human, oracle (the task's own "
        f"solution) or nop (submits at once) [{default}].",
        autocompletion=completion.models,
        rich_help_panel=MODEL,
    )


def prompt_option(default: str) -> Any:
    """Return the option `--prompt`."""
    return typer.Option(
        metavar="PROMPT",
        help=f"Prompt: a name (agent prompts list) or a file [{default}].",
        autocompletion=completion.prompts,
        rich_help_panel=MODEL,
    )


def prices_option(default: str) -> Any:
    """Return the option `--prices`."""
    return typer.Option(
        metavar="NAME",
        help=f"Price snapshot that calls are priced with [{default}].",
        autocompletion=completion.prices,
        rich_help_panel=MODEL,
    )


def task_option(help: str) -> Any:
    """Return the option `--task`."""
    return typer.Option(
        metavar="TASK", help=help, autocompletion=completion.tasks, rich_help_panel=TASK, show_default=False
    )


ImportedTaskOption = Annotated[
    str | None,
    task_option("Task that an imported trial worked on; its commands run again there, and it can be evaluated."),
]


def _limit(metavar: str, help: str) -> Any:
    return typer.Option(metavar=metavar, help=help, rich_help_panel=LIMITS)


def step_limit_option(default: str) -> Any:
    """Return the option `--step-limit`."""
    return _limit("N", f"Maximum number of steps [{default}].")


def time_limit_option(default: str) -> Any:
    """Return the option `--time-limit`."""
    return _limit("DURATION", f"Maximum wall-clock time, such as 90s, 15m or 6h [{default}].")


def cost_limit_option(default: str) -> Any:
    """Return the option `--cost-limit`."""
    return _limit("USD", f"Maximum cost in US dollars, or none [{default}].")


def token_limit_option(default: str) -> Any:
    """Return the option `--token-limit`."""
    return _limit("N", f"Maximum number of tokens, such as 200k or 2M [{default}].")


def command_timeout_option(default: str) -> Any:
    """Return the option `--command-timeout`."""
    return _limit("DURATION", f"Time after which a single command is stopped [{default}].")
