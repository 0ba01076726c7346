"""`agent`: the application and its exit status.

0 done, 1 a reason of the machine or the provider, 2 the user's mistake, 130 interrupted.
"""

from __future__ import annotations

import os
import signal
import sys
from typing import NoReturn

import typer

from agent.cli import doctor, models, show, solve, tasks

app = typer.Typer(
    name="agent",
    help="Let a model work on a command-line task, record all of it, evaluate and price it.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command("solve")(solve.solve)
app.command("show")(show.show)
app.command("trials")(show.trials)
app.add_typer(tasks.app, name="tasks")
app.add_typer(models.app, name="models")
app.command("doctor")(doctor.doctor)
app.command("schema")(show.schema)


def main() -> None:
    """The entry point: runs the application and turns errors into one line and an exit status."""
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, _interrupt)
    debug = "--debug" in sys.argv
    if debug:
        sys.argv.remove("--debug")
    try:
        app()
    except KeyboardInterrupt:
        _leave("interrupted", 130)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)
    except Exception as error:
        if debug:
            raise
        status, line = _explain(error)
        _leave(line, status)


def _interrupt(_number: int, _frame: object) -> NoReturn:
    raise KeyboardInterrupt


def _explain(error: Exception) -> tuple[int, str]:
    """Exit status and one line for an error that ended a command."""
    from agent.errors import MachineError, UserError
    from trajectories.errors import RecordError, RecordFull

    if isinstance(error, UserError) or (isinstance(error, RecordError) and not isinstance(error, RecordFull)):
        return 2, str(error)
    if isinstance(error, MachineError | RecordFull | OSError):
        return 1, str(error)
    return 1, f"{type(error).__name__}: {error} (a defect of Retrace; --debug shows where)"


def _leave(line: str, status: int) -> NoReturn:
    print(f"agent: {' '.join(line.split())}", file=sys.stderr)
    sys.exit(status)


if __name__ == "__main__":
    main()
