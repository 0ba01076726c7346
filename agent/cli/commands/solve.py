"""`agent solve`: run one or more trials of a task."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from agent.cli import completion
from agent.cli.guidance_options import (
    GuidanceApiBaseOption,
    GuidanceOptions,
    GuidanceRuleOption,
    GuidanceSettingOption,
    MaxInterventionsOption,
    guidance_option,
)
from agent.cli.intervention_options import (
    ConversationOption,
    FeedbackOption,
    PlanOption,
    PlanRuleOption,
    RevealTestsOption,
    SelfCorrectOption,
    UntilOption,
)
from agent.cli.options import (
    ENVIRONMENT,
    LIMITS,
    OUTPUT,
    TASK,
    ApiBaseOption,
    JsonOption,
    ModelSettingOption,
    NoEvaluateOption,
    QuietOption,
    RunsOption,
    VariantOption,
    command_timeout_option,
    cost_limit_option,
    env_option,
    model_option,
    prices_option,
    prompt_option,
    step_limit_option,
    task_option,
    time_limit_option,
    token_limit_option,
)
from agent.cli.task_options import (
    BaseImageOption,
    IsolatedVerifierOption,
    OverlayOption,
    TaskOptions,
    TestTimeoutMultiplierOption,
)

if TYPE_CHECKING:
    from agent.trial.options import Options
    from agent.trial.outcome import Outcome
    from trajectories.reading.summary import Summary


def solve(
    task: Annotated[str | None, task_option("Task: an id, an unambiguous short name, or a task directory.")] = None,
    variant: VariantOption = None,
    instruction: Annotated[
        str | None,
        typer.Option(
            metavar="TEXT|FILE", help="Instruction of an ad-hoc task, instead of --task.", rich_help_panel=TASK
        ),
    ] = None,
    image: Annotated[
        str | None,
        typer.Option(
            metavar="IMAGE",
            help="Container image of an ad-hoc task; commands run in its WORKDIR.",
            rich_help_panel=TASK,
        ),
    ] = None,
    workspace: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Initial workspace of an ad-hoc task; it is copied.", rich_help_panel=TASK),
    ] = None,
    overlay: OverlayOption = None,
    base_image: BaseImageOption = None,
    test_timeout_multiplier: TestTimeoutMultiplierOption = None,
    isolated_verifier: IsolatedVerifierOption = False,
    no_evaluate: NoEvaluateOption = False,
    model: Annotated[str | None, model_option("the default in config.yaml")] = None,
    model_setting: ModelSettingOption = None,
    api_base: ApiBaseOption = None,
    prompt: Annotated[str | None, prompt_option("the task's")] = None,
    plan: PlanOption = None,
    plan_rule: PlanRuleOption = None,
    guidance: Annotated[str | None, guidance_option("none")] = None,
    max_interventions: MaxInterventionsOption = None,
    guidance_rule: GuidanceRuleOption = None,
    guidance_setting: GuidanceSettingOption = None,
    guidance_api_base: GuidanceApiBaseOption = None,
    self_correct: SelfCorrectOption = None,
    feedback: FeedbackOption = None,
    conversation: ConversationOption = None,
    self_correct_until: UntilOption = None,
    reveal_tests: RevealTestsOption = False,
    prices: Annotated[str | None, prices_option("the installed litellm's table")] = None,
    step_limit: Annotated[str | None, step_limit_option("the task's, or 1000")] = None,
    time_limit: Annotated[str | None, time_limit_option("the task's, or 6h")] = None,
    cost_limit: Annotated[str | None, cost_limit_option("none")] = None,
    token_limit: Annotated[str | None, token_limit_option("none")] = None,
    command_timeout: Annotated[str | None, command_timeout_option("the task's, or 180s")] = None,
    attempts: Annotated[
        int, typer.Option(min=1, metavar="N", help="Number of attempts, run in sequence.", rich_help_panel=LIMITS)
    ] = 1,
    env: Annotated[str | None, env_option("docker, otherwise sandbox")] = None,
    shell: Annotated[
        str | None,
        typer.Option(
            metavar="SHELL",
            help="Shell of the commands: fresh (one for each) or persistent [fresh].",
            autocompletion=completion.shells,
            rich_help_panel=ENVIRONMENT,
        ),
    ] = None,
    platform: Annotated[
        str | None,
        typer.Option(
            metavar="PLATFORM",
            help="Platform of the image, such as linux/amd64 [this machine's].",
            rich_help_panel=ENVIRONMENT,
        ),
    ] = None,
    checkpoint_every: Annotated[
        int | None,
        typer.Option(
            min=1,
            metavar="N",
            help="Commit the container after every N steps; needs docker [never].",
            rich_help_panel=ENVIRONMENT,
        ),
    ] = None,
    keep: Annotated[
        bool,
        typer.Option("--keep", help="Keep the stopped container after the trial.", rich_help_panel=ENVIRONMENT),
    ] = False,
    dry_run: Annotated[
        bool,
        typer.Option("--dry-run", help="Resolve and check all options, and start nothing.", rich_help_panel=OUTPUT),
    ] = False,
    runs: RunsOption = None,
    batch: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="Folder below --runs into which the trials are written [single].",
            rich_help_panel=OUTPUT,
        ),
    ] = None,
    label: Annotated[
        str | None,
        typer.Option(
            metavar="TEXT",
            help="Name for the trials, for agent trials --label; it does not change what they are [none].",
            rich_help_panel=OUTPUT,
        ),
    ] = None,
    json: JsonOption = False,
    quiet: QuietOption = False,
) -> None:
    """Run a model on a task; record, evaluate and price the trial."""
    from agent.cli.progress import progress
    from agent.cli.results import exit_with_status, print_results
    from agent.cli.settings import parse_options
    from agent.config import ConfigurableOptions
    from agent.continuation.chain import run_chain
    from agent.loop.worker import LoopWorker
    from agent.trial.fresh import Fresh
    from agent.trial.resolve import resolve
    from agent.trial.run import run_new
    from trajectories.interrupts import held, interruptible

    typed = ConfigurableOptions(
        model=model,
        env=env,
        shell=shell,
        prompt=prompt,
        step_limit=step_limit,
        time_limit=time_limit,
        cost_limit=cost_limit,
        token_limit=token_limit,
        command_timeout=command_timeout,
        api_base=api_base,
        platform=platform,
        prices=prices,
    )
    options = parse_options(
        typed,
        task=task,
        instruction=instruction,
        image=image,
        workspace=workspace,
        variants=variant or (),
        of_task=TaskOptions(overlay, base_image, test_timeout_multiplier, isolated_verifier).changes(),
        plan=plan,
        plan_rule=plan_rule,
        guidance=GuidanceOptions(
            guidance, max_interventions, guidance_rule, guidance_setting, guidance_api_base
        ).changes(),
        settings=model_setting or (),
        checkpoint_every=checkpoint_every,
        keep=keep,
        evaluate=not no_evaluate,
        runs=runs,
        batch=batch,
        label=label,
        self_correct=self_correct,
        feedback=feedback,
        conversation=conversation,
        until=self_correct_until,
        reveal_tests=reveal_tests,
    )
    if dry_run:
        _dry_run(options, as_json=json)
        return
    results: list[tuple[Outcome, Summary]] = []
    is_chain = self_correct is not None
    with held():
        try:
            for _ in range(attempts):
                with interruptible():
                    order = resolve(options)
                is_chain = order.chain is not None
                if is_chain:
                    run_chain(order, partial(progress, quiet=quiet), results)
                else:
                    with progress(order, quiet=quiet) as observer:
                        results.append(run_new(order, Fresh(), LoopWorker(order), observer))
                outcome = results[-1][0]
                if outcome.interrupted or outcome.exit.reason == "infrastructure":
                    break
        finally:
            if results:
                print_results(results, as_json=json, quiet=quiet, as_list=attempts != 1 or is_chain)
    exit_with_status([outcome for outcome, _ in results])


def _dry_run(options: Options, *, as_json: bool) -> None:
    from agent.cli.output import emit_json, readable, stdout
    from agent.trial.resolve import resolve

    start: dict[str, Any] = resolve(options).trial_started().model_dump(mode="json")
    keys = ["task", "variant", "model", "environment", "environment_spec", "limits", "prompt", "plan", "prices"]
    keys += [key for key in ("chain", "guidance") if key in start]
    plan = {key: start[key] for key in keys}
    if as_json:
        emit_json({"dry_run": True, **plan})
        return
    console = stdout()
    for key, value in plan.items():
        console.print(f"{key}: {readable(value)}", soft_wrap=True)
