"""`agent fork`: start a new trial from a step of an existing one."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from agent.cli.guidance_options import (
    GuidanceApiBaseOption,
    GuidanceOptions,
    GuidanceRuleOption,
    GuidanceSettingOption,
    MaxInterventionsOption,
    guidance_option,
)
from agent.cli.intervention_options import PlanOption, PlanRuleOption
from agent.cli.options import (
    MODEL,
    TASK,
    ApiBaseOption,
    ImportedTaskOption,
    JsonOption,
    ModelSettingOption,
    NoEvaluateOption,
    QuietOption,
    RunsOption,
    TrialArgument,
    command_timeout_option,
    cost_limit_option,
    env_option,
    model_option,
    prices_option,
    prompt_option,
    step_limit_option,
    time_limit_option,
    token_limit_option,
)

_PARENT = "the parent's"


def fork(
    trial: TrialArgument,
    at: Annotated[
        int,
        typer.Option(
            min=0, metavar="STEP", help="Step of the parent after which the fork begins.", rich_help_panel=TASK
        ),
    ],
    inject: Annotated[
        str | None,
        typer.Option(
            metavar="TEXT|FILE", help="Hint that the model is given at the start of the fork.", rich_help_panel=MODEL
        ),
    ] = None,
    plan: PlanOption = None,
    plan_rule: PlanRuleOption = None,
    task: ImportedTaskOption = None,
    image: Annotated[
        str | None,
        typer.Option(
            metavar="IMAGE",
            help="Image in which an imported trial began; its commands run again there.",
            rich_help_panel=TASK,
        ),
    ] = None,
    workspace: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            help="Directory in which an imported trial began; its commands run again in a copy.",
            rich_help_panel=TASK,
        ),
    ] = None,
    env: Annotated[str | None, env_option(_PARENT)] = None,
    model: Annotated[str | None, model_option(_PARENT)] = None,
    model_setting: ModelSettingOption = None,
    api_base: ApiBaseOption = None,
    prompt: Annotated[str | None, prompt_option(_PARENT)] = None,
    guidance: Annotated[str | None, guidance_option("the parent's; none leaves it out")] = None,
    max_interventions: MaxInterventionsOption = None,
    guidance_rule: GuidanceRuleOption = None,
    guidance_setting: GuidanceSettingOption = None,
    guidance_api_base: GuidanceApiBaseOption = None,
    prices: Annotated[str | None, prices_option(_PARENT)] = None,
    step_limit: Annotated[str | None, step_limit_option(_PARENT)] = None,
    time_limit: Annotated[str | None, time_limit_option(_PARENT)] = None,
    cost_limit: Annotated[str | None, cost_limit_option(_PARENT)] = None,
    token_limit: Annotated[str | None, token_limit_option(_PARENT)] = None,
    command_timeout: Annotated[str | None, command_timeout_option(_PARENT)] = None,
    no_evaluate: NoEvaluateOption = False,
    runs: RunsOption = None,
    json: JsonOption = False,
    quiet: QuietOption = False,
) -> None:
    """Start a new trial from a step of an existing one.

    The fork inherits the parent's messages and workspace up to that step. Its limits count from there.
    """
    from agent.cli.progress import progress
    from agent.cli.results import exit_with_status, print_results
    from agent.cli.settings import fork_changes
    from agent.config import ConfigurableOptions, runs_dir
    from agent.continuation.fork import fork as fork_of
    from agent.loop.worker import LoopWorker
    from agent.trial.run import run_new
    from trajectories.interrupts import held, interruptible
    from trajectories.reading.runs import find_trial

    parent = find_trial(trial, runs_dir(runs))
    typed = ConfigurableOptions(
        model=model,
        env=env,
        prompt=prompt,
        step_limit=step_limit,
        time_limit=time_limit,
        cost_limit=cost_limit,
        token_limit=token_limit,
        command_timeout=command_timeout,
        api_base=api_base,
        prices=prices,
    )
    changes = fork_changes(
        typed,
        image=image,
        workspace=workspace,
        plan=plan,
        plan_rule=plan_rule,
        guidance=GuidanceOptions(
            guidance, max_interventions, guidance_rule, guidance_setting, guidance_api_base
        ).changes_of_fork(),
        settings=model_setting or (),
        evaluate=not no_evaluate,
    )
    if task is not None:
        changes["task"] = task
    with held():
        with interruptible():
            order, start = fork_of(parent, at, hint=inject, **changes)
        with progress(order, quiet=quiet) as observer:
            outcome, summary = run_new(order, start, LoopWorker(order), observer)
        print_results([(outcome, summary)], as_json=json, quiet=quiet)
    exit_with_status([outcome])
