"""`agent resume` and `agent fork`: a recorded trial goes on, or branches off."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

_RUNS = Annotated[Path | None, typer.Option(help="Where trials are kept [runs].", show_default=False)]
_TRIAL = Annotated[str, typer.Argument(metavar="TRIAL", help="A trial's directory, or the beginning of its id.")]
_JSON = Annotated[bool, typer.Option("--json", help="Print one JSON object.")]
_API_BASE = Annotated[str | None, typer.Option(help="Endpoint URL of the model.", show_default=False)]


def resume(trial: _TRIAL, api_base: _API_BASE = None, runs: _RUNS = None, json: _JSON = False) -> None:
    """Go on with a trial after a crash, an interrupt or a lost environment, where it was."""
    from agent.cli.commands.solve import leave, report
    from agent.cli.output import emit_json
    from agent.cli.progress import progress
    from agent.config import runs_dir
    from agent.continuation.resume import resume as resume_one
    from trajectories.reading.runs import find_trial

    directory = find_trial(trial, runs_dir(runs))
    outcome, summary = resume_one(directory, progress, **({"api_base": api_base} if api_base else {}))
    if outcome is None:
        ended = f"{summary.exit.reason}: {summary.exit.cause}" if summary.exit else ""
        typer.echo(f"{directory.name} is finished ({ended}); there is nothing to resume", err=True)
        if json:
            emit_json(summary)
        return
    report([(outcome, summary)], 1, as_json=json)
    leave([outcome])


def fork(
    trial: _TRIAL,
    at: Annotated[int, typer.Option(min=0, help="Branch off after this step.", show_default=False)],
    inject: Annotated[
        str | None, typer.Option(help="A hint for the model at the branch point: its text, or a file.")
    ] = None,
    plan: Annotated[Path | None, typer.Option(help="A file with a plan for the rest of the way.")] = None,
    image: Annotated[
        str | None,
        typer.Option(help="Where an imported trial began: its commands run again there.", show_default=False),
    ] = None,
    workspace: Annotated[
        Path | None, typer.Option(help="The same, a directory; it is copied.", show_default=False)
    ] = None,
    env: Annotated[
        str | None, typer.Option(help="docker, sandbox or local [the parent's].", show_default=False)
    ] = None,
    model: Annotated[str | None, typer.Option(help="Another model [the parent's].", show_default=False)] = None,
    model_setting: Annotated[
        list[str] | None, typer.Option(metavar="KEY=VALUE", help="A setting of the model; may be repeated.")
    ] = None,
    api_base: _API_BASE = None,
    prompt: Annotated[
        str | None, typer.Option(help="Another prompt's name or file [the parent's].", show_default=False)
    ] = None,
    prices: Annotated[
        str | None, typer.Option(help="Another price snapshot [the parent's].", show_default=False)
    ] = None,
    step_limit: Annotated[
        str | None, typer.Option(help="From the branch point on [the parent's].", show_default=False)
    ] = None,
    time_limit: Annotated[
        str | None, typer.Option(help="From the branch point on [the parent's].", show_default=False)
    ] = None,
    cost_limit: Annotated[
        str | None, typer.Option(help="From the branch point on [the parent's].", show_default=False)
    ] = None,
    token_limit: Annotated[
        str | None, typer.Option(help="From the branch point on [the parent's].", show_default=False)
    ] = None,
    command_timeout: Annotated[
        str | None, typer.Option(help="Deadline of one command [the parent's].", show_default=False)
    ] = None,
    no_evaluate: Annotated[bool, typer.Option("--no-evaluate", help="Skip the evaluation.")] = False,
    runs: _RUNS = None,
    json: _JSON = False,
) -> None:
    """Branch off a trial after a step: its messages and workspace, and from there another way."""
    from agent.cli.commands.solve import leave, report
    from agent.cli.progress import progress
    from agent.cli.settings import environment_kind, limits, model_settings
    from agent.config import runs_dir
    from agent.continuation.fork import fork as fork_one, prepare
    from trajectories.interrupts import held, interruptible
    from trajectories.reading.runs import find_trial

    parent = find_trial(trial, runs_dir(runs))
    changes: dict[str, object] = {**limits(locals())}
    given = {"model": model, "prompt": prompt, "plan": plan, "api_base": api_base, "prices": prices}
    changes |= {name: value for name, value in given.items() if value is not None}
    if model_setting or model:
        changes["model_settings"] = model_settings(model_setting or [])
    if model and not api_base:
        changes["api_base"] = None  # the parent's endpoint is not asked for another model, nor given its key
    if no_evaluate:
        changes["evaluate"] = False
    if env is not None:
        changes["env"] = environment_kind(env)
    with held():
        with interruptible():
            branch = prepare(parent, at, inject=inject, image=image, workspace=workspace, **changes)
        with progress(branch.order) as observer:
            outcome, summary = fork_one(branch, observer)
        report([(outcome, summary)], 1, as_json=json)
    leave([outcome])
