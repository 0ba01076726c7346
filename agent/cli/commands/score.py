"""`agent score`: what trials cost and what they were worth."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer


class Cost(StrEnum):
    """Which cost counts."""

    computed = "computed"
    billed = "billed"
    list = "list"
    agentmeter = "agentmeter"


class Infrastructure(StrEnum):
    """What a trial that the infrastructure ended is."""

    EXCLUDE = "exclude"
    COUNT = "count"


class Duplicates(StrEnum):
    """What two trials with one identity and attempt are."""

    refuse = "refuse"
    latest = "latest"
    all = "all"


class Unreadable(StrEnum):
    """What a trial of a batch that cannot be read is."""

    refuse = "refuse"
    exclude = "exclude"


class Attempts(StrEnum):
    """Which trials of a task count in AMS and headlines."""

    latest = "latest"
    all = "all"


class PlotFormat(StrEnum):
    """How a picture is stored."""

    png = "png"
    svg = "svg"


def score(
    trials: Annotated[
        list[str],
        typer.Argument(metavar="TRIAL", help="Trials, by directory or beginning of the id, or directories of batches."),
    ],
    prices: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME",
            help="Price every trial again with this snapshot [as recorded]; a second one is compared by ranking.",
            show_default=False,
        ),
    ] = None,
    cost: Annotated[
        list[Cost] | None,
        typer.Option(
            help="Which cost counts [computed]; agentmeter is its eq. 2. A second one is compared by ranking.",
            show_default=False,
        ),
    ] = None,
    profile: Annotated[
        list[str] | None,
        typer.Option(
            metavar="agentmeter|NAME|FILE",
            help="Budgets of AMS [agentmeter]; a second one is compared by ranking.",
            show_default=False,
        ),
    ] = None,
    fit_profile: Annotated[
        str | None,
        typer.Option(metavar="NAME|FILE", help="Fit budgets to these trials, store them, then use them."),
    ] = None,
    tiers: Annotated[str, typer.Option(metavar="recorded|calibrate|FILE", help="How hard each task is.")] = "recorded",
    tasks: Annotated[
        str | None,
        typer.Option(
            metavar="N|FILE|tried",
            help="All tasks of the benchmark: those not tried count as failed [its published size, else tried].",
            show_default=False,
        ),
    ] = None,
    infrastructure: Annotated[
        Infrastructure, typer.Option(help="Leave infrastructure failures out, or count them as failed.")
    ] = Infrastructure.EXCLUDE,
    duplicates: Annotated[
        Duplicates, typer.Option(help="Two trials with one identity and attempt.")
    ] = Duplicates.refuse,
    attempts: Annotated[
        Attempts, typer.Option(help="Of several trials of a task: the latest completed one, or the mean of all.")
    ] = Attempts.latest,
    unreadable: Annotated[
        Unreadable, typer.Option(help="A trial of a batch whose record cannot be read.")
    ] = Unreadable.refuse,
    against: Annotated[
        str | None,
        typer.Option(
            metavar="CONFIGURATION|BATCH", help="Compare all with this, paired by task [the best].", show_default=False
        ),
    ] = None,
    level: Annotated[float, typer.Option(help="Of intervals.")] = 0.95,
    replicates: Annotated[int, typer.Option(help="Of the bootstrap.")] = 1000,
    seed: Annotated[int, typer.Option(help="Of the bootstrap.")] = 20261120,
    output: Annotated[
        list[Path] | None,
        typer.Option(
            metavar="FILE",
            help="Write a .json, .csv, .parquet, .tex or .md file; may be repeated.",
            show_default=False,
        ),
    ] = None,
    table: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="Which table files hold [trials in .csv and .parquet, all others in .tex and .md].",
            show_default=False,
        ),
    ] = None,
    plots: Annotated[Path | None, typer.Option(help="Draw pictures into this directory.", show_default=False)] = None,
    format: Annotated[
        list[PlotFormat] | None, typer.Option(help="Of the pictures; may be given twice [png].", show_default=False)
    ] = None,
    runs: Annotated[Path | None, typer.Option(help="Where trials are kept [runs].", show_default=False)] = None,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON object: the whole report.")] = False,
) -> None:
    """Score trials from their records: pass rates, AMS, costs, intervals, comparisons."""
    from agent.cli.output import emit_json, stdout
    from agent.config import runs_dir
    from agent.reports.files import Files
    from agent.reports.score import Choices, score_trials

    choices = Choices(
        prices=tuple(prices or ()),
        costs=tuple(each.value for each in cost or [Cost.computed]),
        profiles=tuple(profile or ("agentmeter",)),
        fit_profile=fit_profile,
        tiers=tiers,
        tasks=tasks,
        infrastructure=infrastructure.value,
        duplicates=duplicates.value,
        attempts=attempts.value,
        unreadable=unreadable.value,
        against=against,
        level=level,
        seed=seed,
        replicates=replicates,
    )
    files = Files(tuple(output or ()), table, plots, tuple(each.value for each in format or ()))
    files.check()
    scored = score_trials(trials, runs_dir(runs), choices)
    for path in files.write(scored):
        typer.echo(path, err=True)
    if json:
        emit_json(scored.report)
        return
    from scoring.output.terminal import print_report

    print_report(stdout(), scored.report)
