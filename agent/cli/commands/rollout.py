"""`agent rollout`: estimate the value of the steps of a trial by running forks of them to their verdicts."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from agent.cli.options import (
    LIMITS,
    OUTPUT,
    TASK,
    ApiBaseOption,
    ImportedTaskOption,
    JsonOption,
    ModelSettingOption,
    QuietOption,
    RunsOption,
    TrialArgument,
    model_option,
    prices_option,
)

if TYPE_CHECKING:
    from agent.rollout.run import Rollout, Watch
    from agent.trial.order import Order
    from scoring.interventions.rollouts import RolloutReport
    from trajectories.writing.recorder import Observer


def rollout(
    trial: TrialArgument,
    at: Annotated[
        str | None,
        typer.Option(
            metavar="STEPS",
            help="Steps of the parent after which children begin, such as 5,10,20 or 0-20:5.",
            rich_help_panel=TASK,
        ),
    ] = None,
    times: Annotated[
        int | None,
        typer.Option(min=1, metavar="N", help="Number of children at each step.", rich_help_panel=LIMITS),
    ] = None,
    precision: Annotated[
        float | None,
        typer.Option(
            metavar="P",
            help="Stop early once the half-width of each 95 % interval is at most P, such as 0.2 [none].",
            rich_help_panel=LIMITS,
        ),
    ] = None,
    cost_limit: Annotated[
        str | None,
        typer.Option(
            metavar="USD",
            help="Maximum cost of all children of this run together, in US dollars [none].",
            rich_help_panel=LIMITS,
        ),
    ] = None,
    task: ImportedTaskOption = None,
    model: Annotated[str | None, model_option("the parent's")] = None,
    model_setting: ModelSettingOption = None,
    api_base: ApiBaseOption = None,
    prices: Annotated[str | None, prices_option("the parent's")] = None,
    all: Annotated[
        bool,
        typer.Option(
            "--all",
            help="Include steps in the largest drop whose state could not be restored whole.",
            rich_help_panel=OUTPUT,
        ),
    ] = False,
    report: Annotated[
        bool,
        typer.Option("--report", help="Report on the children that exist, and start none.", rich_help_panel=OUTPUT),
    ] = False,
    dry_run: Annotated[
        bool,
        typer.Option(
            "--dry-run",
            help="Resolve and check everything, print the largest cost, start nothing.",
            rich_help_panel=OUTPUT,
        ),
    ] = False,
    csv: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Write the values of the steps into a CSV file.", rich_help_panel=OUTPUT),
    ] = None,
    plot: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Draw value against step into a .png or .svg file.", rich_help_panel=OUTPUT),
    ] = None,
    runs: RunsOption = None,
    json: JsonOption = False,
    quiet: QuietOption = False,
) -> None:
    """Estimate which step lost a trial: the share of forks that pass.

    Each child is a fork at one of the steps, an ordinary trial that runs to its verdict. A second run adds to them.
    """
    from agent.cli.results import exit_with_status
    from agent.cli.settings import dollars, fork_changes
    from agent.config import ConfigurableOptions, runs_dir
    from agent.errors import UserError
    from agent.rollout.report import report_of_earlier, report_of_run
    from agent.rollout.run import prepare
    from scoring.output.rollouts import check_csv, check_plot
    from trajectories.reading.runs import find_trial

    parent = find_trial(trial, runs_dir(runs))
    if csv is not None:
        check_csv(csv)
    if plot is not None:
        check_plot(plot)
    if report:
        typed: dict[str, object] = {
            "--times": times,
            "--precision": precision,
            "--cost-limit": cost_limit,
            "--dry-run": dry_run or None,
        }
        typed |= {"--task": task, "--model-setting": model_setting, "--api-base": api_base, "--prices": prices}
        if wrong := next((name for name, value in typed.items() if value is not None), None):
            raise UserError(f"{wrong} does not apply to --report, which starts nothing: leave out one of them")
        earlier = report_of_earlier(parent, at=at, model=model, only_whole=not all)
        _print(earlier, csv=csv, plot=plot, as_json=json, quiet=quiet)
        return
    if at is None or times is None:
        raise UserError("give --at STEPS and --times N to run children, or --report to see those that exist")
    if precision is not None and not 0 < precision < 0.5:
        raise UserError(f"--precision {precision:g}: must be above 0 and below 0.5")
    if dry_run and (file := "--csv" if csv is not None else "--plot" if plot is not None else None):
        raise UserError(f"{file} does not apply to --dry-run, which has no values: leave out one of them")
    changes = fork_changes(
        ConfigurableOptions(model=model, api_base=api_base, prices=prices),
        image=None,
        workspace=None,
        plan=None,
        plan_rule=None,
        settings=model_setting or (),
        evaluate=True,
    )
    if task is not None:
        changes["task"] = task
    limit_usd = dollars(cost_limit, "--cost-limit")
    prepared = prepare(parent, at, times, changes, precision=precision, cost_limit_usd=limit_usd)
    if dry_run:
        _dry_run(prepared, as_json=json)
        return
    for line in _outlook(prepared):
        typer.echo(line, err=True)
    try:
        prepared.run(_watch(prepared, quiet=quiet))
    finally:
        if prepared.outcomes or prepared.plan.stopped is not None:
            result = report_of_run(prepared, precision=precision, only_whole=not all)
            _print(result, csv=csv, plot=plot, as_json=json, quiet=quiet)
    if prepared.plan.stopped == "interrupted":
        raise typer.Exit(130)
    if prepared.outcomes:
        exit_with_status(prepared.outcomes)


def _outlook(prepared: Rollout) -> Iterator[str]:
    """Yield what is about to happen, what it may cost, and what each step will lack."""
    order, plan = prepared.order, prepared.plan
    each = f"{plan.planned // len(prepared.steps)} at each of {len(prepared.steps)} steps"
    yield (
        f"rollout of {prepared.parent.name}: at most {plan.planned} children, {each}, by {order.model.info.ref.asked} "
        f"in {order.spec.kind}"
    )
    yield f"largest possible cost: {_largest_cost(prepared)}"
    alike: dict[str, list[str]] = {}
    for step, lines in prepared.losses.items():
        alike.setdefault("; ".join(lines), []).append(str(step))
    for lost, steps in alike.items():
        if lost:
            yield f"the state after step {', '.join(steps)} cannot be restored whole: {lost}"


def _largest_cost(prepared: Rollout) -> str:
    largest, limit = prepared.largest_cost_usd, prepared.cost_limit_usd
    if largest is None:
        return f"unknown: {prepared.bound.reason}; --cost-limit sets a limit on all children"
    if largest == 0:
        return f"$0: {prepared.bound.reason}"
    reason = "--cost-limit" if limit is not None and largest == limit else prepared.bound.reason
    return f"${largest:,.2f} ({reason}; the last call of a child may go beyond its limit)"


def _watch(prepared: Rollout, *, quiet: bool) -> Watch:
    from agent.cli.output import progress_lines
    from agent.cli.progress import progress

    say = progress_lines(quiet=quiet)

    @contextmanager
    def watch(order: Order, step: int, number: int) -> Iterator[Observer]:
        say(f"child {number} of {prepared.plan.planned}: from step {step}")
        with progress(order, quiet=quiet) as view:
            yield view

    return watch


def _dry_run(prepared: Rollout, *, as_json: bool) -> None:
    from agent.cli.output import emit_json

    if as_json:
        emit_json(
            {
                "dry_run": True,
                "trial": str(prepared.parent),
                "model": prepared.order.model.info.ref.asked,
                "children": prepared.plan.planned,
                "largest_cost_usd": prepared.largest_cost_usd,
                "steps": [{"step": step, "not_restored": lines} for step, lines in prepared.losses.items()],
            }
        )
        return
    for line in _outlook(prepared):
        typer.echo(line)


def _print(report: RolloutReport, *, csv: Path | None, plot: Path | None, as_json: bool, quiet: bool) -> None:
    from agent.cli.output import emit_json, stdout
    from scoring.output.rollouts import print_rollout, write_csv, write_plot

    if as_json:
        emit_json(report)
    else:
        print_rollout(stdout(), report)
    if csv is not None:
        write_csv(csv, report)
    if plot is not None:
        typer.echo(write_plot(plot, report), err=True)
    if not quiet:
        _print_next(report)


def _print_next(report: RolloutReport) -> None:
    """Name the steps inside the largest drop, if there are any, otherwise the step that lost the trial."""
    from agent.cli.results import print_next

    drop = report.drop
    if drop is None:
        return
    inside = drop.by - drop.after - 1
    if not inside:
        print_next("show", report.trial, {"--step": drop.by}, effect="the step of the largest drop")
        return
    count = min(3, inside)
    steps = sorted({drop.after + round((inside + 1) * part / (count + 1)) for part in range(1, count + 1)})
    print_next(
        "rollout", report.trial, {"--at": ",".join(map(str, steps)), "--times": "N"}, effect="looks inside the drop"
    )
