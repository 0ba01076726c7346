"""`agent resume`: continue an interrupted trial."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from agent.cli.options import ApiBaseOption, JsonOption, QuietOption, RunsOption, TrialArgument

if TYPE_CHECKING:
    from agent.trial.options import OptionChanges
    from agent.trial.outcome import Outcome
    from trajectories.reading.summary import Summary
    from trajectories.record.events import Chain


def resume(
    trial: TrialArgument,
    api_base: ApiBaseOption = None,
    runs: RunsOption = None,
    json: JsonOption = False,
    quiet: QuietOption = False,
) -> None:
    """Continue an interrupted trial where it stopped.

    A turn of a chain stands for the chain, which continues at its first unfinished point. The record of a plan, as
    plans/NAME, is continued without asking again for a reply that it holds.
    """
    from agent.batch.grid.orders import sources_of_trial
    from agent.cli.output import emit_json
    from agent.cli.progress import progress
    from agent.cli.results import exit_with_status, print_results
    from agent.config import runs_dir
    from agent.continuation.chain import chain_of
    from agent.continuation.resume import resuming
    from trajectories.reading.plans.finding import find_plan
    from trajectories.reading.runs import find_trial

    if (plan := find_plan(trial, runs_dir(runs))) is not None:
        _resume_plan(plan, api_base, as_json=json, quiet=quiet)
        return
    directory = find_trial(trial, runs_dir(runs))
    changes: OptionChanges = {"api_base": api_base} if api_base else {}
    if (chain := chain_of(directory)) is not None:
        _resume_chain(*chain, changes, as_json=json, quiet=quiet)
        return
    with resuming(directory, sources=sources_of_trial(directory), **changes) as resumption:
        if resumption.order is None:
            outcome = None
        else:
            with progress(resumption.order, resumption.events, quiet=quiet) as observer:
                outcome = resumption.run(observer)
    summary = resumption.summary
    if outcome is None:
        ended = f"{summary.exit.reason}: {summary.exit.cause}" if summary.exit else ""
        typer.echo(f"{directory.name} is finished ({ended}); there is nothing to resume", err=True)
        if json:
            emit_json(summary)
        return
    print_results([(outcome, summary)], as_json=json, quiet=quiet)
    exit_with_status([outcome])


def _resume_chain(first: Path, chain: Chain, changes: OptionChanges, *, as_json: bool, quiet: bool) -> None:
    from agent.batch.grid.orders import sources_of_trial
    from agent.cli.output import emit_json, progress_lines
    from agent.cli.progress import progress
    from agent.cli.results import exit_with_status, print_results
    from agent.continuation.chain import resume_chain, turns_of
    from trajectories.interrupts import held
    from trajectories.reading.runs import current_summary

    results: list[tuple[Outcome, Summary]] = []
    with held():
        try:
            watch, say, sources = partial(progress, quiet=quiet), progress_lines(quiet=quiet), sources_of_trial(first)
            resume_chain(first, chain, watch, results, say, sources=sources, **changes)
        finally:
            if results:
                print_results(results, as_json=as_json, quiet=quiet, as_list=True)
    if results:
        exit_with_status([outcome for outcome, _ in results])
        return
    turns = turns_of(first, chain)
    units = f"{chain.turns} {chain.unit}s"
    count = f"{len(turns)} of {units}" if len(turns) < chain.turns else units
    typer.echo(f"the chain {first.name} is finished ({count}); there is nothing to resume", err=True)
    if as_json:
        emit_json({"trials": [current_summary(turn).model_dump(mode="json") for turn in turns]})


def _resume_plan(directory: Path, api_base: str | None, *, as_json: bool, quiet: bool) -> None:
    from agent.cli.commands.plan import print_plan
    from agent.cli.output import progress_lines
    from agent.guidance.continued_plan import continue_plan

    record, is_new = continue_plan(directory, api_base, progress_lines(quiet=quiet))
    if not is_new:
        typer.echo(f"{directory.name} holds its plan; there is nothing to resume", err=True)
    print_plan(record, as_json=as_json, quiet=quiet)
