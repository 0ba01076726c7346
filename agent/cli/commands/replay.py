"""`agent replay`: run the recorded commands again and compare the results."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from agent.cli.options import ENVIRONMENT, JsonOption, QuietOption, RunsOption, TrialArgument, env_option

if TYPE_CHECKING:
    from agent.replay.report import ReplayReport
    from trajectories.reading.replays import ReplayRequest


def replay(
    trial: TrialArgument,
    to: Annotated[
        int | None, typer.Option(min=1, metavar="N", help="Step after which the replay stops [the last].")
    ] = None,
    env: Annotated[str | None, env_option("as recorded")] = None,
    image: Annotated[
        str | None,
        typer.Option(
            metavar="IMAGE",
            help="Container image in which the replay begins [as recorded].",
            rich_help_panel=ENVIRONMENT,
        ),
    ] = None,
    workspace: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR|ARCHIVE",
            help="Workspace with which the replay begins [as recorded].",
            rich_help_panel=ENVIRONMENT,
        ),
    ] = None,
    strict: Annotated[
        bool,
        typer.Option("--strict", help="Exit with 1 unless all was replayed and every result is identical to the byte."),
    ] = False,
    runs: RunsOption = None,
    json: JsonOption = False,
    quiet: QuietOption = False,
) -> None:
    """Run the recorded commands again and compare the results.

    The commands run in a fresh environment; no model is called. The report is kept in the trial's folder `replays`, and
    replaces the one of the same request.
    """
    from agent.cli.output import emit_json, progress_lines
    from agent.cli.results import print_next
    from agent.cli.settings import environment_kind
    from agent.config import runs_dir
    from agent.replay.replay import Replay
    from agent.replay.start import replay_start
    from environments.protocol import EnvironmentFault
    from trajectories.interrupts import held, interruptible
    from trajectories.reading.packed import record_state
    from trajectories.reading.reader import events_file, first_event
    from trajectories.reading.replays import ReplayRequest
    from trajectories.reading.runs import find_trial
    from trajectories.record.texts.text import printable

    directory = find_trial(trial, runs_dir(runs))
    with held():
        with interruptible():
            start = replay_start(
                directory, first_event(directory), env=environment_kind(env), image=image, workspace=workspace
            )
        request = ReplayRequest(
            environment=start.order.spec.kind,
            to=to,
            image=image,
            workspace=None if workspace is None else str(workspace),
        )
        size = record_state(events_file(directory)).size
        try:
            report = Replay(directory, start, progress_lines(quiet=quiet)).run(to)
        except KeyboardInterrupt:
            if not quiet:
                options = {"--to": to, "--env": env, "--image": image, "--workspace": workspace, "--runs": runs}
                print_next("replay", trial, options, effect="begins the replay again; the trial is not changed")
            raise
        except EnvironmentFault as error:
            typer.echo(printable(f"agent: the replay failed: {error}"), err=True)
            raise typer.Exit(1) from None
        file = _stored(directory, report, request, size)
    if json:
        emit_json({**report.json(), "file": None if file is None else str(file)})
    else:
        _print(report)
    if strict and not report.all_equal:
        raise typer.Exit(1)


def _stored(directory: Path, report: ReplayReport, request: ReplayRequest, size: int) -> Path | None:
    """Store the report beside the record, and return its file; None if that cannot be."""
    from trajectories.writing.masking import Masker
    from trajectories.writing.replays import store_replay

    try:
        return store_replay(directory, report.stored(request, size), Masker.from_environment())
    except OSError as error:
        typer.echo(f"note: the report is not kept: {error.filename or directory}: {error.strerror or error}", err=True)
        return None


def _print(report: ReplayReport) -> None:
    from agent.cli.output import stdout
    from trajectories.record.texts.text import printable, quantity

    console = stdout()
    total = report.actions
    lines = [
        f"{report.returncodes_equal} of {total} exit codes equal",
        f"{report.outputs_identical} of {total} outputs identical, "
        f"{report.outputs_equal_normalized} equal when normalized",
    ]
    if report.workspace_equal is not None:
        paths = quantity(len(report.workspace_differences), "path")
        lines.append("the workspace is equal" if report.workspace_equal else f"the workspace differs in {paths}")
        lines += [f"  {path}" for path in report.workspace_differences[:20]]
    elif not report.snapshots:
        lines.append("the workspace was not compared, because the record does not hold it")
    if report.submission_equal is not None:
        lines.append("the submission is equal" if report.submission_equal else "the submission differs")
    if report.not_recorded:
        lines.append(
            f"not compared whole, because their end or output is not recorded: {', '.join(report.not_recorded)}"
        )
    if report.not_replayed:
        lines.append(f"not replayed, because their end is not recorded: {', '.join(report.not_replayed)}")
    lines += [f"not restored: {line}" for line in report.not_restored]
    if report.not_compared:
        lines.append(f"not compared: {', '.join(report.not_compared)}")
    lines += report.notes
    if not report.snapshots:
        lines.append("the record has no snapshots: the cause of a difference is unknown")
    if report.first_causal is not None:
        lines.append(f"first causal difference: {report.first_causal.action} ({report.first_causal.name})")
    for line in lines:
        console.print(printable(line), soft_wrap=True, markup=False, highlight=False)
