"""`agent evaluate`: evaluate an existing workspace, of a trial or any other, or those of a whole batch."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from agent.cli import completion
from agent.cli.options import OUTPUT, JsonOption, QuietOption, RunsOption, env_option, task_option
from agent.cli.task_options import BaseImageOption, OverlayOption, TaskOptions, TestTimeoutMultiplierOption

if TYPE_CHECKING:
    from agent.trial.options import TaskChanges
    from environments.protocol import Kind


def evaluate(
    sources: Annotated[
        list[str],
        typer.Argument(
            metavar="TRIAL|BATCH|DIR|ARCHIVE",
            help="Trials, batches (their trials without a score), or one workspace: a directory, or a tar, tar.gz or "
            "tar.zst.",
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
    evaluations: Annotated[
        int | None,
        typer.Option(
            min=1,
            metavar="N",
            help="Number of evaluations at once, of several trials [that of the batch, otherwise 1].",
            show_default=False,
        ),
    ] = None,
    runs: RunsOption = None,
    json: JsonOption = False,
    quiet: QuietOption = False,
) -> None:
    """Evaluate the workspace of a trial, of all trials of a batch, or any workspace.

    The verdict on a trial is added to its record. Options of the task that the trial was solved with hold here as
    well, unless others are given; agent score shows verdicts with different ones apart. A trial whose whole system is
    judged is always evaluated from its commit, without any process of the agent. Of a batch, the trials that have come
    to their end without a score are evaluated, so the same command goes on after an interrupt.
    """
    from agent.cli.evaluating import folder_named
    from agent.cli.output import emit_json, stdout
    from agent.cli.progress import progress_of_evaluation
    from agent.cli.results import EVALUATES_AGAIN, print_next
    from agent.cli.settings import environment_kind
    from agent.config import runs_dir
    from agent.errors import UserError
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
    runs_folder = runs_dir(runs)
    if len(sources) > 1 or folder_named(sources[0], runs_folder, has_task=task is not None) is not None:
        if output is not None:
            raise UserError(f"--output {output}: verdicts and logs of trials are kept with them; leave the option out")
        status = _evaluate_several(
            sources,
            runs_folder,
            evaluations,
            (task, environment_kind(env), changes),
            as_json=json,
            quiet=quiet,
        )
        if not quiet and not json and len(sources) == 1:
            print_next("score", sources[0], {"--runs": runs})
        if status:
            raise typer.Exit(status)
        return
    (source,) = sources
    with progress_of_evaluation(source, quiet=quiet) as observer:
        evaluation, verdict = evaluate_any(
            source,
            runs_folder,
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


def _evaluate_several(
    sources: list[str],
    runs: Path,
    at_once: int | None,
    settings: tuple[str | None, Kind | None, TaskChanges],
    *,
    as_json: bool,
    quiet: bool,
) -> int:
    """Evaluate several trials, or those of batches; return the exit status."""
    from agent.cli.evaluating import evaluate_named, named, print_ends
    from agent.cli.output import emit_json, progress_lines
    from agent.evaluation.several import Settings

    targets = named(sources, runs, has_task=settings[0] is not None)
    every = Settings(at_once or targets.at_once, frozenset(targets.again), *settings)
    content, status = evaluate_named(targets, every, progress_lines(quiet=quiet))
    if as_json:
        emit_json(content)
    else:
        print_ends(content)
    return status
