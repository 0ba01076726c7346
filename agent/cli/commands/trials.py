"""`agent trials`: list the recorded trials."""

from __future__ import annotations

import typer

from agent.cli.options import (
    BenchmarkFilterOption,
    JsonOption,
    LabelFilterOption,
    LimitOption,
    ModelFilterOption,
    RunsOption,
    SelectedTrialsArgument,
    SinceOption,
    TaskFilterOption,
)


def trials(
    trials: SelectedTrialsArgument = None,
    task: TaskFilterOption = None,
    model: ModelFilterOption = None,
    benchmark: BenchmarkFilterOption = None,
    label: LabelFilterOption = None,
    since: SinceOption = None,
    limit: LimitOption = None,
    runs: RunsOption = None,
    json: JsonOption = False,
) -> None:
    """List the recorded trials, newest first."""
    from agent.cli.output import emit_json_list, stdout
    from agent.cli.selecting import trial_filter
    from agent.config import runs_dir
    from scoring.rows import benchmark_of
    from trajectories.reading.runs import directories_named, listed, newest_first, trial_directories
    from trajectories.reading.selection import Selection
    from trajectories.record.texts.text import printable, quantity

    wanted = trial_filter(task=task, model=model, benchmark=benchmark, label=label, since=since, limit=limit)
    runs = runs_dir(runs, must_exist=runs is not None)
    directories = newest_first(directories_named(trials, runs)[0]) if trials else trial_directories(runs)
    selection = Selection(wanted, benchmark_of)
    rows = selection.of(map(listed, directories))  # one at a time: all summaries of a large study need much memory
    if json:
        emit_json_list(
            "trials",
            (
                row.summary.model_dump(mode="json")
                if row.summary
                else {"trial": str(row.directory), "problem": row.problem}
                for row in rows
            ),
        )
    else:
        from trajectories.views.listing import Listing

        listing = Listing(rows)
        if listing.rows:
            listing.print(stdout())
        for directory, problem in listing.problems:
            typer.echo(printable(f"unreadable: {directory}: {problem}"), err=True)
    if selection.unreadable:
        count = quantity(len(selection.unreadable), "unreadable trial")
        typer.echo(f"{count} left out; agent trials without conditions lists all", err=True)
    if not directories:
        typer.echo(f"no trials under {runs}", err=True)
    elif wanted.has_conditions and not selection.matching:
        typer.echo(printable(selection.nothing()), err=True)
