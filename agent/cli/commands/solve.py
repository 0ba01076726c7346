"""`agent solve`: options in, one or more trials out."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from agent.trial.order import Options
    from agent.trial.run import Outcome
    from trajectories.reading.summary import Summary


def solve(
    model: Annotated[
        str | None,
        typer.Option(
            help="An alias (opus), a litellm name, script:FILE, replay:TRIAL, human, oracle (the task's own solution) "
            "or nop (submits at once).",
            show_default=False,
        ),
    ] = None,
    task: Annotated[
        str | None, typer.Option(help="A task's id, its short name, or a task directory.", show_default=False)
    ] = None,
    instruction: Annotated[
        str | None, typer.Option(help="An ad-hoc task instead: its text, or a file with it.", show_default=False)
    ] = None,
    image: Annotated[str | None, typer.Option(help="Image of an ad-hoc task.", show_default=False)] = None,
    workspace: Annotated[
        Path | None, typer.Option(help="Directory an ad-hoc task starts from; it is copied.", show_default=False)
    ] = None,
    env: Annotated[
        str | None, typer.Option(help="docker, sandbox or local [docker, else sandbox].", show_default=False)
    ] = None,
    shell: Annotated[
        str | None, typer.Option(help="fresh (one a command) or persistent [fresh].", show_default=False)
    ] = None,
    variant: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="An ablation of the task (see agent tasks show); may be repeated."),
    ] = None,
    prompt: Annotated[
        str | None, typer.Option(help="A prompt's name or file [the task's].", show_default=False)
    ] = None,
    plan: Annotated[
        Path | None, typer.Option(help="A file with a plan to give the model [none].", show_default=False)
    ] = None,
    step_limit: Annotated[str | None, typer.Option(help="Model calls [1000].", show_default=False)] = None,
    time_limit: Annotated[str | None, typer.Option(help="For instance 90s, 15m, 6h [6h].", show_default=False)] = None,
    cost_limit: Annotated[str | None, typer.Option(help="US dollars [none].", show_default=False)] = None,
    token_limit: Annotated[str | None, typer.Option(help="For instance 200k, 2M [none].", show_default=False)] = None,
    command_timeout: Annotated[
        str | None, typer.Option(help="Deadline of one command [180s].", show_default=False)
    ] = None,
    attempts: Annotated[int, typer.Option(min=1, help="Trials, one after the other.")] = 1,
    platform: Annotated[
        str | None, typer.Option(help="Image platform, linux/amd64 [this machine's].", show_default=False)
    ] = None,
    api_base: Annotated[str | None, typer.Option(help="Endpoint URL of the model.", show_default=False)] = None,
    model_setting: Annotated[
        list[str] | None, typer.Option(metavar="KEY=VALUE", help="A setting of the model; may be repeated.")
    ] = None,
    prices: Annotated[
        str | None, typer.Option(help="A price snapshot [the installed litellm's table].", show_default=False)
    ] = None,
    runs: Annotated[Path | None, typer.Option(help="Where trials are kept [runs].", show_default=False)] = None,
    checkpoint_every: Annotated[
        int | None,
        typer.Option(min=1, help="Commit the container after every N steps; docker [never].", show_default=False),
    ] = None,
    keep: Annotated[bool, typer.Option("--keep", help="Leave the container behind, stopped.")] = False,
    no_evaluate: Annotated[bool, typer.Option("--no-evaluate", help="Skip the evaluation.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Resolve and check everything, start nothing.")] = False,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Let a model work on a task, record it, evaluate the workspace, and price the run."""
    from agent.cli.progress import progress
    from agent.cli.results import exit_with_status, print_results
    from agent.cli.settings import parse_options
    from agent.trial.order import resolve
    from agent.trial.run import solve as solve_one
    from trajectories.interrupts import held, interruptible

    options = parse_options(locals())
    if dry_run:
        _dry_run(options, as_json=json)
        return
    done: list[tuple[Outcome, Summary]] = []
    with held():
        try:
            for _ in range(attempts):
                with interruptible():
                    order = resolve(options)
                with progress(order) as observer:
                    done.append(solve_one(order, observer))
                outcome = done[-1][0]
                if outcome.interrupted or outcome.exit.reason == "infrastructure":
                    break
        finally:
            if done:
                print_results(done, as_json=json, as_list=attempts != 1)
    exit_with_status([outcome for outcome, _ in done])


def _dry_run(options: Options, *, as_json: bool) -> None:
    from agent.cli.output import emit_json, said, stdout
    from agent.trial.order import resolve

    start: dict[str, Any] = resolve(options).trial_started().model_dump(mode="json")
    keys = ("task", "variant", "model", "environment", "environment_spec", "limits", "prompt", "plan", "prices")
    plan = {key: start[key] for key in keys}
    if as_json:
        emit_json({"dry_run": True, **plan})
        return
    console = stdout()
    for key, value in plan.items():
        console.print(f"{key}: {said(value)}", soft_wrap=True)
