"""`agent replay`: the recorded commands once more, compared."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from agent.replay.replay import Report


def replay(
    trial: Annotated[str, typer.Argument(metavar="TRIAL", help="A trial's directory, or the beginning of its id.")],
    to: Annotated[int | None, typer.Option(min=1, help="Stop after this step [the last].", show_default=False)] = None,
    env: Annotated[str | None, typer.Option(help="docker, sandbox or local [as recorded].", show_default=False)] = None,
    image: Annotated[str | None, typer.Option(help="Begin in this image [as recorded].", show_default=False)] = None,
    workspace: Annotated[
        Path | None, typer.Option(help="Begin with this directory or archive [as recorded].", show_default=False)
    ] = None,
    strict: Annotated[bool, typer.Option("--strict", help="Exit 1 unless everything came again to the byte.")] = False,
    runs: Annotated[Path | None, typer.Option(help="Where trials are kept [runs].", show_default=False)] = None,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Run the recorded commands again in a fresh environment and compare each with what was recorded."""
    from agent.cli.output import emit_json
    from agent.cli.settings import environment_kind
    from agent.config import runs_dir
    from agent.replay.initial import initial
    from agent.replay.replay import replay as replay_one
    from environments.protocol import EnvironmentFault
    from trajectories.interrupts import held, interruptible
    from trajectories.reading.reader import first_event
    from trajectories.reading.runs import find_trial

    directory = find_trial(trial, runs_dir(runs))
    with held():
        with interruptible():
            begin = initial(
                directory, first_event(directory), env=environment_kind(env), image=image, workspace=workspace
            )
        try:
            report = replay_one(directory, begin, to=to, say=lambda line: typer.echo(line, err=True))
        except EnvironmentFault as error:
            typer.echo(f"agent: the replay broke off: {error}", err=True)
            raise typer.Exit(1) from None
    if json:
        emit_json(report.json())
    else:
        _print(report)
    if strict and not report.all_equal:
        raise typer.Exit(1)


def _print(report: Report) -> None:
    from agent.cli.output import stdout
    from trajectories.record.text import counted

    console = stdout()
    total = report.actions
    lines = [
        f"{report.returncodes_equal} of {total} exit codes equal",
        f"{report.outputs_identical} of {total} outputs identical, {report.outputs_equal_normalized} equal normalised",
    ]
    if report.workspace_equal is not None:
        paths = counted(len(report.workspace_differences), "path")
        lines.append("the workspace is equal" if report.workspace_equal else f"the workspace differs in {paths}")
        lines += [f"  {path}" for path in report.workspace_differences[:20]]
    if report.not_replayed:
        lines.append(f"not replayed, having no end of their own: {', '.join(report.not_replayed)}")
    lines += [f"not restored: {line}" for line in report.not_restored]
    if report.not_compared:
        lines.append(f"not compared: {', '.join(report.not_compared)}")
    lines += report.notes
    if report.first_causal is not None:
        lines.append(f"first causal difference: {report.first_causal.action} ({report.first_causal.name})")
    for line in lines:
        console.print(line, soft_wrap=True, markup=False, highlight=False)
