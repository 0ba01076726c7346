"""The application `agent` and its exit status.

0: done; 1: the machine, the provider or the evaluator failed; 2: usage error; 130: interrupted.
"""

from __future__ import annotations

import os
import sys
from typing import NoReturn

import typer

from agent.cli.listed import listed_commands
from trajectories import interrupts

app = listed_commands(
    "Run models on command-line tasks; record, evaluate and price every trial.",
    {
        "Run trials": {
            "plan": "Make a plan for a task, for agent solve --plan.",
            "solve": "Run a model on a task; record, evaluate and price the trial.",
            "resume": "Continue an interrupted trial where it stopped.",
            "fork": "Start a new trial from a step of an existing one.",
            "batch": "Run a grid of tasks, models and arms, under one budget.",
            "rollout": "Estimate which step lost a trial: the share of forks that pass.",
            "evaluate": "Evaluate the workspace of a trial, of all trials of a batch, or any workspace.",
            "replay": "Run the recorded commands again and compare the results.",
        },
        "Look at trials": {
            "trials": "List the recorded trials, newest first.",
            "show": "Print a trial: overview, one step, or live.",
            "checkout": "Write the workspace as it was after a step into a directory.",
            "diff": "Compare the workspaces of two steps, or of two trials.",
        },
        "Compare trials": {
            "score": "Score trials from their records.",
            "analyze": "Report what the agent did in one trial or many.",
        },
        "Exchange trials with other programs": {
            "import": "Make trials of files that another program recorded.",
            "export": "Write trials in another program's format.",
            "schema": "Print the JSON Schema of the events in a record.",
        },
        "Choose what to run": {
            "tasks": "List, show and make tasks.",
            "models": "List models with their prices and keys.",
            "prompts": "List, show and compare prompts.",
            "prices": "List, make and compare snapshots of token prices.",
        },
        "Look after this machine": {
            "doctor": "Check what this machine can do.",
            "clean": "Remove what ended processes of Retrace left behind.",
            "gc": "Delete unused contents; pack finished trials.",
        },
    },
)


def main() -> None:
    """Run the application; report an error as one line and an exit status."""
    interrupts.install()
    if os.environ.get("_AGENT_COMPLETE"):
        from agent.cli import completion

        completion.complete(lambda: typer.main.get_command(app)(prog_name="agent", standalone_mode=False))
    note_unknown_variables()
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
        _leave(*explain(error))
    if status == 130:  # typer turns an interrupt into this status
        _leave("interrupted", 130)
    sys.exit(status if isinstance(status, int) else 0)


_VARIABLES = ("RETRACE_CONFIG_DIR", "RETRACE_CACHE_DIR", "RETRACE_PROGRAMBENCH_TASKS")
"""Variables that a user may set."""


def note_unknown_variables() -> None:
    """Print a note for each variable whose name is nearly that of one of ours: it has no effect."""
    unknown = [name for name in os.environ if name.startswith("RETRACE_") and name not in _VARIABLES]
    if unknown:
        from difflib import get_close_matches

        for name in unknown:
            if near := get_close_matches(name, _VARIABLES, 1, 0.85):
                print(f"note: the variable {name} has no effect; did you mean {near[0]}?", file=sys.stderr)


def explain(error: Exception) -> tuple[str, int]:
    """Return one line and the exit status for an error that ended a command."""
    if isinstance(error, typer.TyperException):
        context = getattr(error, "ctx", None)  # usage errors carry the context of their command
        message = _in_our_words(error.format_message())
        if message.startswith("Got unexpected extra argument") and context and context.command_path == "agent solve":
            message += "; name a task with --task and a model with --model"
        return f"{message} (see {context.command_path if context else 'agent'} --help)", 2
    from agent.errors import MachineError, UserError
    from trajectories.errors import RecordError, RecordFull

    if isinstance(error, UserError) or (isinstance(error, RecordError) and not isinstance(error, RecordFull)):
        return str(error), 2
    from benchmarks.task.task import TaskError
    from prompts import PromptError

    if isinstance(error, TaskError | PromptError):
        return str(error), 2
    if isinstance(error, OSError) and error.filename and error.strerror:
        return f"{error.filename}: {error.strerror}", 1
    if isinstance(error, MachineError | RecordFull | OSError):
        return str(error), 1
    return f"{type(error).__name__}: {error} (internal error; rerun with --debug for a traceback)", 1


def _in_our_words(message: str) -> str:
    """Return a message of typer about an option without the wording of pydantic."""
    for theirs, ours in (
        ("Input should be greater than or equal to", "must be at least"),
        ("Input should be less than or equal to", "must be at most"),
        ("Input should be", "must be"),
        ("Value error, ", ""),
    ):
        message = message.replace(theirs, ours)
    return message


def _leave(line: str, status: int) -> NoReturn:
    """Print one line on standard error and exit."""
    if sys.stderr is not None:
        from trajectories.record.texts.text import printable
        from trajectories.writing import excerpts

        print(f"agent: {printable(excerpts.on_one_line(line))}", file=sys.stderr)
    sys.exit(status)


if __name__ == "__main__":
    main()
