"""`agent plan`: make a plan for a task from the task alone."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from agent.cli import completion
from agent.cli.intervention_options import INTERVENTIONS
from agent.cli.options import (
    MODEL,
    OUTPUT,
    ApiBaseOption,
    JsonOption,
    ModelSettingOption,
    QuietOption,
    RunsOption,
    VariantOption,
    env_option,
    prices_option,
    task_option,
)
from agent.cli.task_options import BaseImageOption, OverlayOption, TaskOptions

if TYPE_CHECKING:
    from trajectories.reading.plans.record import PlanRecord


def plan(
    task: Annotated[str, task_option("Task: an id, an unambiguous short name, or a task directory.")],
    variant: VariantOption = None,
    overlay: OverlayOption = None,
    base_image: BaseImageOption = None,
    model: Annotated[
        str | None,
        typer.Option(
            metavar="MODEL",
            help="Author: an alias such as opus, a litellm name, script:FILE, or human to write the plan yourself "
            "[the default in config.yaml].",
            autocompletion=completion.models,
            rich_help_panel=MODEL,
        ),
    ] = None,
    model_setting: ModelSettingOption = None,
    api_base: ApiBaseOption = None,
    prices: Annotated[str | None, prices_option("the installed litellm's table")] = None,
    plan_rule: Annotated[
        str | None,
        typer.Option(
            metavar="RULE",
            help="Rule that the plan must keep: no-code or none [no-code]. A plan that breaks it is asked for again, "
            "twice at most.",
            autocompletion=completion.code_rules,
            rich_help_panel=INTERVENTIONS,
        ),
    ] = None,
    env: Annotated[str | None, env_option("docker, otherwise sandbox")] = None,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            metavar="FILE",
            help="File to write the plan to [standard output].",
            rich_help_panel=OUTPUT,
        ),
    ] = None,
    runs: RunsOption = None,
    json: JsonOption = False,
    quiet: QuietOption = False,
) -> None:
    """Make a plan for a task, for agent solve --plan.

    The author sees the instruction and the names of the files in the initial workspace.

    The record of the calls, with their costs, is in a folder of its own below `plans` in the runs directory, with the
    plan beside it as `plan.md`. Give the plan to a model with `agent solve --plan`.
    """
    from agent.cli.output import progress_lines
    from agent.cli.settings import checked_defaults, code_rule, environment_kind, model_settings
    from agent.config import ConfigurableOptions, config_path, runs_dir
    from agent.errors import UserError
    from agent.guidance.planning import check_output, make_plan, planner_of, write_output
    from agent.models.choose import NOP
    from agent.trial.options import Options
    from agent.trial.resolve import resolve

    typed = ConfigurableOptions(model=model, env=env, api_base=api_base, prices=prices)
    chosen = typed.or_else(checked_defaults())
    if not chosen.model:
        raise UserError(f"no model: give --model, or set a default in {config_path()}")
    rule = code_rule(plan_rule, "--plan-rule") or "no-code"
    if rule == "no-code":
        from agent.guidance.no_code import require_parsers

        require_parsers()
    if output is not None:
        check_output(output)
    options = Options(
        model=NOP,
        task=task,
        variants=tuple(variant or ()),
        **TaskOptions(overlay, base_image).changes(),
        env=environment_kind(chosen.env),
        platform=chosen.platform,
        prices=chosen.prices,
        evaluate=False,
        runs=runs_dir(runs),
    )
    order = resolve(options)
    asker = planner_of(chosen.model, order, model_settings(model_setting or ()), chosen.api_base)
    try:
        record = make_plan(order, asker, rule, progress_lines(quiet=quiet))
    finally:
        asker.close()
    if output is not None:
        write_output(record, output)
    print_plan(record, as_json=json, quiet=quiet, with_text=output is None)


def print_plan(record: PlanRecord, *, as_json: bool, quiet: bool, with_text: bool = True) -> None:
    """Print a plan: its text, a line about its author and costs, and the next command."""
    from agent.cli.output import emit_json
    from agent.cli.results import print_next
    from trajectories.record.texts.text import printable
    from trajectories.views.plan import plan_json, plan_line

    if as_json:
        emit_json(plan_json(record))
        return
    if with_text:
        typer.echo(printable(record.text or "").strip("\n"))
    typer.echo(printable(plan_line(record)), err=True)
    if not quiet:
        print_next("solve", None, {"--task": record.task.id, "--plan": record.path, "--model": record.model.asked})
