"""`agent analyze`: what the agent did in one trial or many."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer


class PlotFormat(StrEnum):
    """How a picture is stored."""

    png = "png"
    svg = "svg"


def analyze(
    trials: Annotated[
        list[str],
        typer.Argument(metavar="TRIAL", help="Trials, by directory or beginning of the id, or directories of batches."),
    ],
    csv: Annotated[Path | None, typer.Option(help="Write one row a trial.", show_default=False)] = None,
    plots: Annotated[Path | None, typer.Option(help="Draw pictures into this directory.", show_default=False)] = None,
    format: Annotated[
        list[PlotFormat] | None, typer.Option(help="Of the pictures; may be given twice [png].", show_default=False)
    ] = None,
    runs: Annotated[Path | None, typer.Option(help="Where trials are kept [runs].", show_default=False)] = None,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Say what the agent did: classes of actions, growth of the code, repetitions, costs of observations."""
    from agent.cli.output import emit_json, stdout
    from agent.config import runs_dir
    from agent.errors import UserError
    from trajectories.analysis.aggregate import analyze_trials, write_csv

    if format and plots is None:
        raise UserError("--format is that of the pictures: say where they go with --plots DIR")
    analysis = analyze_trials(trials, runs_dir(runs))
    if csv is not None:
        write_csv(csv, analysis.trials)
    if plots is not None:
        from trajectories.analysis.plots import write_plots

        for path in write_plots(plots, analysis.trials, [each.value for each in format or [PlotFormat.png]]):
            typer.echo(path, err=True)
    if json:
        emit_json(analysis)
        return
    from trajectories.views.analysis import print_analysis

    print_analysis(stdout(), analysis)
