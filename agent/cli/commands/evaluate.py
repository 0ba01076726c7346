"""`agent evaluate`: a workspace that is there already gets a verdict."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from trajectories.record.events import BaseEvent


def evaluate(
    what: Annotated[
        str,
        typer.Argument(
            metavar="TRIAL|DIR|ARCHIVE", help="A trial; or a workspace: a directory, or a tar, tar.gz or tar.zst."
        ),
    ],
    task: Annotated[
        str | None,
        typer.Option(help="The task [a trial's own, if it is what it was].", show_default=False),
    ] = None,
    env: Annotated[
        str | None, typer.Option(help="docker, sandbox or local [a trial's own].", show_default=False)
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR", help="Keep verdict.json and the logs of what is no trial here [nowhere].", show_default=False
        ),
    ] = None,
    runs: Annotated[Path | None, typer.Option(help="Where trials are kept [runs].", show_default=False)] = None,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Evaluate a trial's workspace again, or any workspace; a trial's verdict goes into its record."""
    from agent.cli.output import emit_json, stdout
    from agent.cli.settings import environment_kind
    from agent.config import runs_dir
    from agent.evaluation.evaluate import evaluate_any, exit_status
    from trajectories.record.text import printable
    from trajectories.views.verdict import print_verdict

    done, verdict = evaluate_any(
        what, runs_dir(runs), task=task, env=environment_kind(env), output=output, observer=_show
    )
    if json:
        emit_json(done)
    elif verdict is not None:
        print_verdict(stdout(), verdict)
    else:
        typer.echo(printable(f"no verdict: {done.why_none}"))
    if status := exit_status(done):
        raise typer.Exit(status)


def _show(event: BaseEvent) -> None:
    from trajectories.record.events import EvaluationStarted, Warned
    from trajectories.record.text import printable

    if isinstance(event, Warned):
        typer.echo(printable(event.text), err=True)
    elif isinstance(event, EvaluationStarted):
        typer.echo(f"evaluating with {printable(event.evaluator)}", err=True)
