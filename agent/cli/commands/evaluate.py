"""`agent evaluate`: evaluate an existing workspace, of a trial or any other."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from agent.cli.options import JsonOption, RunsOption, env_option

if TYPE_CHECKING:
    from trajectories.record.events import BaseEvent


def evaluate(
    source: Annotated[
        str,
        typer.Argument(
            metavar="TRIAL|DIR|ARCHIVE", help="Trial, or a workspace: a directory, or a tar, tar.gz or tar.zst."
        ),
    ],
    task: Annotated[
        str | None,
        typer.Option(help="Task to evaluate with [the trial's own, if it has not changed].", show_default=False),
    ] = None,
    env: Annotated[str | None, env_option("the trial's own")] = None,
    output: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            help="Directory for verdict.json and the logs of a workspace that is not a trial's [not kept].",
            show_default=False,
        ),
    ] = None,
    runs: RunsOption = None,
    json: JsonOption = False,
) -> None:
    """Evaluate the workspace of a trial, or any workspace.

    The verdict on a trial is added to its record.
    """
    from agent.cli.output import emit_json, stdout
    from agent.cli.settings import environment_kind
    from agent.config import runs_dir
    from agent.evaluation.evaluate import evaluate_any
    from agent.evaluation.result import exit_status
    from trajectories.record.text import printable
    from trajectories.views.verdict import print_verdict

    evaluation, verdict = evaluate_any(
        source, runs_dir(runs), task=task, env=environment_kind(env), output=output, observer=_Progress()
    )
    if json:
        emit_json(evaluation)
    elif verdict is not None:
        logs = None if evaluation.logs is None else Path(evaluation.logs)
        print_verdict(stdout(), verdict, logs=logs, trial=None if evaluation.trial is None else Path(evaluation.trial))
    else:
        typer.echo(printable(f"no verdict: {evaluation.why_none}"))
    if status := exit_status(evaluation):
        raise typer.Exit(status)


class _Progress:
    """Prints a line for each warning and for the start of the evaluation."""

    def feed(self, event: BaseEvent) -> None:
        from trajectories.record.events import EvaluationStarted, Warned
        from trajectories.record.text import printable

        if isinstance(event, Warned):
            typer.echo(printable(event.text), err=True)
        elif isinstance(event, EvaluationStarted):
            typer.echo(f"evaluating with {printable(event.evaluator)}", err=True)

    def note(self, line: str) -> None:
        from trajectories.record.text import printable

        typer.echo(printable(line), err=True)
