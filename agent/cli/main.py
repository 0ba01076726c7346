"""The application `agent` and its exit status.

0: done; 1: the machine, the provider or the evaluator failed; 2: usage error; 130: interrupted.
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
from agent.cli.group import command_group
from trajectories import interrupts

app = command_group("Run models on command-line tasks; record, evaluate and price every trial.", name="agent")
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
    """Run the application; report an error as one line and an exit status."""
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
        _leave(*_explain(error))
    if status == 130:  # typer turns an interrupt into this status
        _leave("interrupted", 130)
    sys.exit(status if isinstance(status, int) else 0)


def _explain(error: Exception) -> tuple[str, int]:
    """Return one line and the exit status for an error that ended a command."""
    if isinstance(error, typer.TyperException):
        context = getattr(error, "ctx", None)  # usage errors carry the context of their command
        return f"{error.format_message()} (see {context.command_path if context else 'agent'} --help)", 2
    from agent.errors import MachineError, UserError
    from trajectories.errors import RecordError, RecordFull

    if isinstance(error, UserError) or (isinstance(error, RecordError) and not isinstance(error, RecordFull)):
        return str(error), 2
    if isinstance(error, OSError) and error.filename and error.strerror:
        return f"{error.filename}: {error.strerror}", 1
    if isinstance(error, MachineError | RecordFull | OSError):
        return str(error), 1
    return f"{type(error).__name__}: {error} (internal error; rerun with --debug for a traceback)", 1


def _leave(line: str, status: int) -> NoReturn:
    """Print one line on standard error and exit."""
    if sys.stderr is not None:
        from trajectories.record.text import printable
        from trajectories.writing import excerpts

        print(f"agent: {printable(excerpts.on_one_line(line))}", file=sys.stderr)
    sys.exit(status)


if __name__ == "__main__":
    main()
