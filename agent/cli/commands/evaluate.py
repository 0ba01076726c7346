"""`agent evaluate`: evaluate an existing workspace, of a trial or any other."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from agent.cli import completion
from agent.cli.options import OUTPUT, JsonOption, QuietOption, RunsOption, env_option, task_option
from agent.cli.task_options import BaseImageOption, OverlayOption, TaskOptions, TestTimeoutMultiplierOption


def evaluate(
    source: Annotated[
        str,
        typer.Argument(
            metavar="TRIAL|DIR|ARCHIVE",
            help="Trial, or a workspace: a directory, or a tar, tar.gz or tar.zst.",
            autocompletion=completion.trials,
        ),
    ],
    task: Annotated[str | None, task_option("Task to evaluate with [the trial's own, if it has not changed].")] = None,
    env: Annotated[str | None, env_option("the trial's own")] = None,
    overlay: OverlayOption = None,
    base_image: BaseImageOption = None,
    test_timeout_multiplier: TestTimeoutMultiplierOption = None,
    output: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            help="Directory for verdict.json and the logs of a workspace that is not a trial's [not kept].",
            show_default=False,
            rich_help_panel=OUTPUT,
        ),
    ] = None,
    runs: RunsOption = None,
    json: JsonOption = False,
    quiet: QuietOption = False,
) -> None:
    """Evaluate the workspace of a trial, or any workspace.

    The verdict on a trial is added to its record. Options of the task that the trial was solved with hold here as
    well, unless others are given; agent score shows verdicts with different ones apart. A trial whose whole system is
    judged is always evaluated from its commit, without any process of the agent.
    """
    from agent.cli.output import emit_json, stdout
    from agent.cli.progress import progress_of_evaluation
    from agent.cli.results import EVALUATES_AGAIN, print_next
    from agent.cli.settings import environment_kind
    from agent.config import runs_dir
    from agent.evaluation.evaluate import evaluate_any
    from agent.evaluation.result import exit_status
    from trajectories.record.texts.text import printable
    from trajectories.views.verdict import print_verdict

    given = {
        "--overlay": overlay,
        "--base-image": base_image,
        "--test-timeout-multiplier": test_timeout_multiplier,
    }
    changes = TaskOptions(overlay, base_image, test_timeout_multiplier).changes()
    with progress_of_evaluation(source, quiet=quiet) as observer:
        evaluation, verdict = evaluate_any(
            source,
            runs_dir(runs),
            task=task,
            env=environment_kind(env),
            output=output,
            changes=changes,
            observer=observer,
        )
    if json:
        emit_json(evaluation)
    elif verdict is not None:
        logs = None if evaluation.logs is None else Path(evaluation.logs)
        print_verdict(stdout(), verdict, logs=logs, trial=None if evaluation.trial is None else Path(evaluation.trial))
    else:
        typer.echo(printable(f"no verdict: {evaluation.why_none}"))
    if status := exit_status(evaluation):
        if not quiet:
            options = {"--task": task, "--env": env, **given, "--runs": runs}
            print_next("evaluate", source, options, effect=EVALUATES_AGAIN)
        raise typer.Exit(status)
