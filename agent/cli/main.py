"""`agent`: the application and its exit status.

0 done, 1 a reason of the machine or the provider, 2 the user's mistake, 130 interrupted.
"""

from __future__ import annotations

import os
import sys
from typing import NoReturn

import typer

from agent.cli.commands import (
    analyze,
    checkout,
    clean,
    diff,
    doctor,
    evaluate,
    export,
    fork,
    gc,
    import_,
    models,
    prices,
    replay,
    resume,
    schema,
    score,
    show,
    solve,
    tasks,
    trials,
)
from trajectories import interrupts

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
app.command("resume")(resume.resume)
app.command("fork")(fork.fork)
app.command("evaluate")(evaluate.evaluate)
app.command("replay")(replay.replay)
app.command("show")(show.show)
app.command("trials")(trials.trials)
app.command("score")(score.score)
app.command("analyze")(analyze.analyze)
app.command("import")(import_.import_)
app.command("export")(export.export)
app.add_typer(tasks.app, name="tasks")
app.add_typer(models.app, name="models")
app.add_typer(prices.app, name="prices")
app.command("doctor")(doctor.doctor)
app.command("clean")(clean.clean)
app.command("schema")(schema.schema)
app.command("checkout")(checkout.checkout)
app.command("diff")(diff.diff)
app.command("gc")(gc.gc)


def main() -> None:
    """The entry point: runs the application and turns errors into one line and an exit status."""
    interrupts.install()
    debug = "--debug" in sys.argv
    if debug:
        sys.argv.remove("--debug")
    try:
        status = typer.main.get_command(app)(prog_name="agent", standalone_mode=False)
    except (KeyboardInterrupt, typer.Abort):
        _leave("interrupted", 130)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)
    except Exception as error:
        if debug:
            raise
        if type(error).__name__ == "NoArgsIsHelpError":
            print(error.format_message(), file=sys.stderr)  # type: ignore[attr-defined]
            sys.exit(2)
        _leave(*_explain(error))
    if status == 130:  # typer has turned an interrupt into this
        _leave("interrupted", 130)
    sys.exit(status if isinstance(status, int) else 0)


def _explain(error: Exception) -> tuple[str, int]:
    """One line and the exit status for an error that ended a command."""
    if hasattr(error, "format_message"):  # typer's own, of click or of its copy of it: a wrong use of the command
        context = getattr(error, "ctx", None)
        return f"{error.format_message()} (see {context.command_path if context else 'agent'} --help)", 2
    from agent.errors import MachineError, UserError
    from trajectories.errors import RecordError, RecordFull

    if isinstance(error, UserError) or (isinstance(error, RecordError) and not isinstance(error, RecordFull)):
        return str(error), 2
    if isinstance(error, OSError) and error.filename and error.strerror:
        return f"{error.filename}: {error.strerror}", 1
    if isinstance(error, MachineError | RecordFull | OSError):
        return str(error), 1
    return f"{type(error).__name__}: {error} (a defect of Retrace; --debug shows where)", 1


def _leave(line: str, status: int) -> NoReturn:
    if sys.stderr is not None:
        from trajectories.record.text import printable

        print(f"agent: {printable(' '.join(line.split()))}", file=sys.stderr)
    sys.exit(status)


if __name__ == "__main__":
    main()
