"""`agent score`: costs and scores of trials."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from agent.cli.options import (
    OUTPUT,
    BenchmarkFilterOption,
    LabelFilterOption,
    LimitOption,
    ModelFilterOption,
    PlotFormatOption,
    PlotsOption,
    QuietOption,
    RunsOption,
    SelectedTrialsArgument,
    SinceOption,
    TaskFilterOption,
)
from scoring.choices import (
    AttemptRule,
    CostKind,
    DuplicateRule,
    InfrastructureRule,
    IntegrityBy,
    IntegrityRule,
    UnreadableRule,
)

if TYPE_CHECKING:
    from agent.reports.inputs import Inputs

_BUDGETS, _COUNTED, _COMPARISON = "Prices and budgets", "Trials that count", "Comparison"
"""Headings of options in the help."""


def score(
    trials: SelectedTrialsArgument = None,
    task: TaskFilterOption = None,
    model: ModelFilterOption = None,
    benchmark: BenchmarkFilterOption = None,
    label: LabelFilterOption = None,
    since: SinceOption = None,
    limit: LimitOption = None,
    prices: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME",
            help="Price snapshot that all calls are priced with again [recorded prices]. A second one is compared by "
            "its ranking.",
            show_default=False,
            rich_help_panel=_BUDGETS,
        ),
    ] = None,
    cost: Annotated[
        list[CostKind] | None,
        typer.Option(
            help="Kind of cost: from the price snapshot, billed by the provider, without cache discounts, or by "
            "AgentMeter's equation 2 [computed]. A second one is compared by its ranking.",
            show_default=False,
            rich_help_panel=_BUDGETS,
        ),
    ] = None,
    profile: Annotated[
        list[str] | None,
        typer.Option(
            metavar="agentmeter|programbench|NAME|FILE",
            help="Profile with the budgets of AMS [programbench for ProgramBench, otherwise agentmeter]. A second one "
            "is compared by its ranking.",
            show_default=False,
            rich_help_panel=_BUDGETS,
        ),
    ] = None,
    fit_profile: Annotated[
        str | None,
        typer.Option(
            metavar="NAME|FILE",
            help="Fit a profile to these trials, store it under this name, and use it.",
            rich_help_panel=_BUDGETS,
        ),
    ] = None,
    tiers: Annotated[
        str,
        typer.Option(
            metavar="published|recorded|calibrate|FILE",
            help="Source of the tasks' tiers of difficulty: the benchmark's list (without one, the trials' records), "
            "the trials' records, an estimate from these trials, or a file.",
            rich_help_panel=_BUDGETS,
        ),
    ] = "published",
    tasks: Annotated[
        str | None,
        typer.Option(
            metavar="N|FILE|tried",
            help="All tasks of the benchmark; those without a trial count as failed [published tasks, or tried ones].",
            show_default=False,
            rich_help_panel=_BUDGETS,
        ),
    ] = None,
    infrastructure: Annotated[
        InfrastructureRule,
        typer.Option(
            help="Exclude infrastructure failures, or count them as failed trials.",
            rich_help_panel=_COUNTED,
        ),
    ] = InfrastructureRule.EXCLUDE,
    duplicates: Annotated[
        DuplicateRule,
        typer.Option(
            help="Treatment of trials with the same identity and attempt: an error, the latest, or all.",
            rich_help_panel=_COUNTED,
        ),
    ] = DuplicateRule.REFUSE,
    attempts: Annotated[
        AttemptRule,
        typer.Option(
            help="Trials of a task in AMS and headlines: the latest completed one, or the mean of all.",
            rich_help_panel=_COUNTED,
        ),
    ] = AttemptRule.LATEST,
    integrity: Annotated[
        IntegrityRule,
        typer.Option(
            help="Trials flagged for a violation of the rules: show their number, exclude them, or score 0.",
            rich_help_panel=_COUNTED,
        ),
    ] = IntegrityRule.SHOW,
    integrity_by: Annotated[
        IntegrityBy | None,
        typer.Option(
            help="Evidence that flags a trial [the panel if it decided, otherwise rules; tampering in any case].",
            show_default=False,
            rich_help_panel=_COUNTED,
        ),
    ] = None,
    unreadable: Annotated[
        UnreadableRule,
        typer.Option(
            help="Treatment of unreadable records in a batch: an error, or left out.",
            rich_help_panel=_COUNTED,
        ),
    ] = UnreadableRule.REFUSE,
    against: Annotated[
        str | None,
        typer.Option(
            metavar="CONFIGURATION|BATCH",
            help="Configuration or batch that all others are compared with, paired by task [the best configuration].",
            show_default=False,
            rich_help_panel=_COMPARISON,
        ),
    ] = None,
    level: Annotated[
        float,
        typer.Option(
            help="Confidence level of intervals.",
            rich_help_panel=_COMPARISON,
        ),
    ] = 0.95,
    replicates: Annotated[
        int,
        typer.Option(
            help="Number of replicates of the bootstrap.",
            rich_help_panel=_COMPARISON,
        ),
    ] = 1000,
    seed: Annotated[
        int,
        typer.Option(
            help="Seed of the bootstrap.",
            rich_help_panel=_COMPARISON,
        ),
    ] = 20261120,
    output: Annotated[
        list[Path] | None,
        typer.Option(
            metavar="FILE",
            help="Write the report to a .json, .csv, .parquet, .tex or .md file; repeatable.",
            show_default=False,
            rich_help_panel=OUTPUT,
        ),
    ] = None,
    table: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="Table that files contain [trials in .csv and .parquet, all other tables in .tex and .md].",
            show_default=False,
            rich_help_panel=OUTPUT,
        ),
    ] = None,
    plots: PlotsOption = None,
    format: PlotFormatOption = None,
    runs: RunsOption = None,
    json: Annotated[
        bool,
        typer.Option(
            "--json",
            help="Print the whole report as one JSON object.",
            rich_help_panel=OUTPUT,
        ),
    ] = False,
    quiet: QuietOption = False,
) -> int:
    """Score trials from their records.

    The report has pass rates, AMS, costs, intervals and comparisons. Trials of several benchmarks make several reports.
    """
    from agent.cli.output import emit_json, progress_lines, stdout
    from agent.cli.selecting import trial_filter
    from agent.config import runs_dir
    from agent.errors import UserError
    from agent.reports.files import Files
    from agent.reports.inputs import read_inputs
    from agent.reports.score import Choices, score_trials
    from scoring.output.terminal import print_report
    from trajectories.errors import RecordError
    from trajectories.record.texts.text import printable

    choices = Choices(
        prices=tuple(prices or ()),
        costs=tuple(cost or [CostKind.COMPUTED]),
        profiles=tuple(profile or ()),
        fit_profile=fit_profile,
        tiers=tiers,
        tasks=tasks,
        infrastructure=infrastructure,
        duplicates=duplicates,
        attempts=attempts,
        integrity=integrity,
        integrity_by=integrity_by,
        unreadable=unreadable,
        against=against,
        level=level,
        seed=seed,
        replicates=replicates,
    )
    wanted = trial_filter(task=task, model=model, benchmark=benchmark, label=label, since=since, limit=limit)
    files = Files(tuple(output or ()), table, plots, tuple(format or ()))
    files.check()
    runs = runs_dir(runs, must_exist=not trials)
    inputs = read_inputs(trials or (), runs, unreadable, wanted)
    _check_number(inputs, [*["--json"] * json, *files.options(), *choices.of_one_benchmark()])
    status = 0
    for number, of_one in enumerate(inputs):
        try:
            scored = score_trials(of_one, runs, choices, progress_lines(quiet=quiet))
        except (RecordError, UserError) as error:
            if len(inputs) == 1:
                raise
            typer.echo(printable(f"agent: {of_one.benchmark}: {' '.join(str(error).split())}"), err=True)
            status = 2
            continue
        for line in files.write(scored):
            typer.echo(line, err=True)
        if json:
            emit_json(scored.report)
            continue
        typer.echo("\n" * bool(number), nl=False)
        print_report(stdout(), scored.report)
    return status


def _check_number(inputs: Sequence[Inputs], options: Sequence[str]) -> None:
    """Check that the trials are of one benchmark, if options apply to one only.

    Raises: UserError.
    """
    from agent.errors import UserError
    from trajectories.record.texts.text import quantity

    if len(inputs) > 1 and options:
        there = ", ".join(f"{of_one.benchmark} ({quantity(len(of_one.rows), 'trial')})" for of_one in inputs)
        raise UserError(f"{options[0]} needs trials of one benchmark; choose it with --benchmark NAME: {there}")
