"""`agent resume`: continue an interrupted trial."""

from __future__ import annotations

import typer

from agent.cli.options import ApiBaseOption, JsonOption, QuietOption, RunsOption, TrialArgument


def resume(
    trial: TrialArgument,
    api_base: ApiBaseOption = None,
    runs: RunsOption = None,
    json: JsonOption = False,
    quiet: QuietOption = False,
) -> None:
    """Continue an interrupted trial where it stopped."""
    from agent.cli.output import emit_json
    from agent.cli.progress import progress
    from agent.cli.results import exit_with_status, print_results
    from agent.config import runs_dir
    from agent.continuation.resume import resuming
    from agent.trial.options import OptionChanges
    from trajectories.reading.runs import find_trial

    directory = find_trial(trial, runs_dir(runs))
    changes: OptionChanges = {"api_base": api_base} if api_base else {}
    with resuming(directory, **changes) as resumption:
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
