"""`agent analyze`: what the agent did in one trial or many."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

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
    integrity: Annotated[
        bool, typer.Option("--integrity", help="Instead: did it keep the rules of a clean-room benchmark?")
    ] = False,
    judge_model: Annotated[
        list[str] | None,
        typer.Option(help="With --integrity: ask judges of this model; may be repeated. Costs money.", metavar="MODEL"),
    ] = None,
    judges: Annotated[
        int | None, typer.Option(min=1, max=99, help="How many, dealt over the models [9].", show_default=False)
    ] = None,
    judge_cost_limit: Annotated[
        str | None, typer.Option(help="US dollars for all judges; checked before each request.", show_default=False)
    ] = None,
    judge_setting: Annotated[
        list[str] | None, typer.Option(metavar="KEY=VALUE", help="A setting of every judge; may be repeated.")
    ] = None,
    judge_api_base: Annotated[str | None, typer.Option(help="Endpoint URL of the judges.", show_default=False)] = None,
) -> None:
    """Say what the agent did: classes of actions, growth of the code, repetitions, costs of observations."""
    from agent.cli.output import emit_json, stdout
    from agent.config import runs_dir
    from agent.errors import UserError
    from trajectories.analysis.aggregate import analyze_trials, write_csv

    asked = {
        "--judge-model": judge_model,
        "--judges": judges,
        "--judge-cost-limit": judge_cost_limit,
        "--judge-setting": judge_setting,
        "--judge-api-base": judge_api_base,
    }
    given = [name for name, value in asked.items() if value]
    if given and not integrity:
        raise UserError(f"{given[0]} is for the judges of --integrity: give that as well")
    if given and not judge_model:
        raise UserError(f"{given[0]} means nothing without judges: name --judge-model MODEL as well")
    if integrity:
        if plots is not None:
            raise UserError("--plots draws no findings: leave out --integrity, or --plots")
        _integrity(trials, runs_dir(runs), csv, json, asked)
        return
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


def _integrity(trials: list[str], runs: Path, csv: Path | None, json: bool, asked: dict[str, Any]) -> None:
    from agent.cli.output import emit_json, stdout
    from agent.cli.settings import dollars, model_settings
    from agent.evaluation.integrity import analyze_integrity
    from trajectories.analysis.integrity.report import write_csv
    from trajectories.views.integrity import print_integrity

    bench = None
    if asked["--judge-model"]:
        from agent.roles.judges import JUDGES, make_bench

        bench = make_bench(
            asked["--judge-model"],
            asked["--judges"] or JUDGES,
            settings=model_settings(asked["--judge-setting"] or [], "--judge-setting"),
            api_base=asked["--judge-api-base"],
            cost_limit_usd=dollars(asked["--judge-cost-limit"], "--judge-cost-limit"),
        )
    try:
        analysis, interrupted = analyze_integrity(trials, runs, bench, lambda line: typer.echo(line, err=True))
    finally:
        if bench is not None:
            bench.close()
    if csv is not None:
        write_csv(csv, analysis.trials)
    if json:
        emit_json(analysis)
    else:
        print_integrity(stdout(), analysis)
    if interrupted:
        raise typer.Exit(130)
