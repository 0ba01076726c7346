"""`agent tasks check`: prove that a task works before a model is paid."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated

import typer

from agent.cli import completion
from agent.cli.options import JsonOption
from agent.cli.task_options import BaseImageOption, OverlayOption, TaskOptions, TestTimeoutMultiplierOption


def check(
    tasks: Annotated[
        list[str],
        typer.Argument(
            metavar="TASK...", help="Tasks: ids, short names or task directories.", autocompletion=completion.tasks
        ),
    ],
    fast: Annotated[
        bool, typer.Option("--fast", help="Check the files alone; start no environment and run no tests.")
    ] = False,
    env: Annotated[
        str | None,
        typer.Option(
            metavar="KIND",
            help="Environment to check in: docker, sandbox or local [as agent solve chooses].",
            show_default=False,
            autocompletion=completion.kinds,
        ),
    ] = None,
    overlay: OverlayOption = None,
    base_image: BaseImageOption = None,
    test_timeout_multiplier: TestTimeoutMultiplierOption = None,
    json: JsonOption = False,
) -> None:
    """Prove that tasks work, before a model is paid.

    The task's files are read, its environment is started and searched for files of the tests, `nop` must fail and
    `oracle` must pass, and three evaluations of one submission must agree. Exit status: 0: no check failed; 1: a check
    failed, or the machine did; 2: usage error.
    """
    from agent.checking.check import check_task, require_names
    from agent.checking.findings import Finding, Report
    from agent.cli.output import emit_json, stdout
    from agent.cli.settings import environment_kind
    from agent.trial.options import Options
    from trajectories.record.texts.text import printable

    console = stdout()

    def show(finding: Finding) -> None:
        detail = f": {finding.detail}" if finding.detail else ""
        console.print(printable(f"  {finding.status:8}{finding.check}{detail}"), soft_wrap=True)

    require_names(tasks)
    reports: list[Report] = []
    changes = TaskOptions(overlay, base_image, test_timeout_multiplier).changes()
    common = Options(model="nop", env=environment_kind(env), **changes)
    try:
        for task in tasks:
            options = replace(common, task=task)
            if json:
                reports.append(check_task(options, fast=fast))
                continue
            console.print(printable(task), soft_wrap=True)
            reports.append(check_task(options, fast=fast, show=show))
    finally:  # a failure of the machine, or Ctrl-C, does not take the results of the tasks before it
        if json:
            emit_json({"tasks": [{**report.model_dump(), "usable": report.usable} for report in reports]})
    if not all(report.usable for report in reports):
        raise typer.Exit(1)
